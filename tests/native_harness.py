"""Many graphs compiled to C in one go: one call of the compiler for all of them."""

import functools
from dataclasses import replace

import numpy as np
from wengert.codegen import chunks, lower
from wengert.codegen.c_source import c_source
from wengert.codegen.kernel_text import format_kernel, parse_kernel
from wengert.codegen.kernel_verify import verify_kernel
from wengert.codegen.native_source import compilable, host_source
from wengert.codegen.numpy_source import numpy_source
from wengert.runtime import load_c
from wengert.runtime.load_python import load

QUICK = ("-O1", *load_c.FLAGS[1:])
QUICKEST = ("-O0", *load_c.FLAGS[1:])


class Loaded:
    """A graph's function, and its kernels."""

    def __init__(self, function, kernels):
        self.function = function
        self.kernels = kernels

    def __call__(self, *args):
        """All results, as a tuple."""
        result = self.function(*args)
        return result if type(result) is tuple else (result,)


def load_many(graphs, monkeypatch, flags=QUICK, tiny_chunks=False):
    """A ``Loaded`` for each graph.

    With ``tiny_chunks`` every loop is cut into as many chunks as it can be, and inner loops are
    written out, however small they are.
    """
    monkeypatch.setattr(load_c, "FLAGS", flags)
    if tiny_chunks:
        monkeypatch.setattr(chunks, "CHUNK_WORK", 1)
        monkeypatch.setattr(chunks, "GRAIN", 1)
        monkeypatch.setattr(lower, "OUTER", 1)
    parts = []
    for i, graph in enumerate(graphs):
        named = replace(graph, name=f"f{i}_{graph.name}" if graph.name.isascii() else f"f{i}")
        parts.append((named, compilable(named)))
    kernels = [k for _, module in parts for k in module.text[0]]
    for kernel in kernels:
        verify_kernel(kernel)
        text = format_kernel(kernel)
        assert format_kernel(parse_kernel(text)) == text
    printed = c_source(kernels, below=[f for _, module in parts for f in module.text[1]]) \
        if kernels else None
    once = functools.lru_cache(lambda *key: real(printed.text, *key))       # not hashed each time
    real = load_c._library
    monkeypatch.setattr(load_c, "_library", lambda text, flags, libraries, key: once(
        tuple(flags), tuple(libraries), key))
    out = []
    for graph, module in parts:
        source = host_source(module, printed, annotate=False) if module.text[0] else \
            numpy_source(graph, annotate=False)
        out.append(Loaded(load(source), module.text[0]))
    monkeypatch.setattr(load_c, "_library", real)
    return out


def support(threads, least=0):
    """The support module, with threads for however little work."""
    module = load_c._support(load_c._start_support())
    module.set_threads(threads, least)
    return module


def close(got, expected, message, double=1e-12, single=1e-5):
    """Equal shapes and dtypes, and values up to rounding."""
    assert len(got) == len(expected), message
    for a, b in zip(got, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, message
        assert a.dtype == b.dtype, message
        tol = single if b.dtype == np.float32 else double
        finite = np.abs(b[np.isfinite(b)])
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * max(1.0, finite.max(initial=0.0)),
                                   err_msg=str(message))
