"""Graphs as modules on the stand-in for CuPy, their kernels compiled in one go."""

import importlib
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from wengert.codegen import launches
from wengert.codegen.cupy_source import cupy_source

HERE = Path(__file__).parent
FOLDERS = (str(HERE / "standin"), str(HERE / "shim"), str(HERE))
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
ORDERS = (0, 1 + 4, 2 + 16)      # threads and blocks forwards, backwards, at random


@contextmanager
def standin():
    """While this is open, ``import cupy`` gives the stand-in."""
    sys.path[:0] = FOLDERS
    before = {n: sys.modules.pop(n) for n in list(sys.modules) if _is_ours(n)}
    try:
        yield importlib.import_module("cupy")
    finally:
        for folder in FOLDERS:
            sys.path.remove(folder)
        for name in [n for n in sys.modules if _is_ours(n)]:
            del sys.modules[name]
        sys.modules.update(before)


def _is_ours(name):
    return name.partition(".")[0] in ("cupy", "cupyx", "emulator")


class Module:
    """A generated module that has been run, and its kernels."""

    def __init__(self, source):
        self.source = source
        self.space = dict(source.data)
        exec(compile(source.text, f"<{source.name}>", "exec"), self.space)
        self.space.update(source.captured)
        raw = sys.modules["cupy"].RawKernel
        self.kernels = {n: k for n, k in self.space.items() if isinstance(k, raw)}

    def __call__(self, *args, order=0):
        """All results on the host, as a tuple."""
        cp = sys.modules["cupy"]
        sys.modules["cupy.device"].order = order
        given = [cp.asarray(a) if isinstance(a, np.ndarray) and a.ndim else a for a in args]
        result = self.space[self.source.name](*given)
        result = result if type(result) is tuple else (result,)
        return tuple(r.get() if isinstance(r, cp.ndarray) else np.asarray(r) for r in result)


def small_pieces(monkeypatch):
    """Blocks, grids, rows and slices so small that every kind of launch is used everywhere."""
    for name, value in {"BLOCK": 8, "MOST_BLOCKS": 3, "LONG_ROW": 2, "SLICE": 1}.items():
        monkeypatch.setattr(launches, name, value)


def modules(graphs, check=True, **options):
    """A module for each graph, all their kernels compiled for the shim in one go."""
    found = []
    for i, graph in enumerate(graphs):
        name = f"f{i}_{graph.name}" if graph.name.isascii() else f"f{i}"
        found.append(Module(cupy_source(replace(graph, name=name), annotate=False, **options)))
    texts = texts_of(found)
    if texts:
        importlib.import_module("emulator").batch(texts, check)
    return found


def texts_of(found):
    """Text and name of all kernels."""
    return [(k.code, n) for m in found for n, k in m.kernels.items()]


def close(got, expected, message, double=1e-12, single=1e-5):
    """Equal shapes and dtypes, and values up to rounding."""
    assert len(got) == len(expected), message
    for a, b in zip(got, expected, strict=True):
        b = np.asarray(b)
        assert a.shape == b.shape, (message, a.shape, b.shape)
        assert a.dtype == b.dtype, (message, a.dtype, b.dtype)
        tol = single if b.dtype in (np.float32, np.complex64) else double
        finite = np.abs(b[np.isfinite(b)])
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * max(1.0, finite.max(initial=0.0)),
                                   err_msg=str(message))
