"""Graphs as modules on the stand-in for CuPy, their kernels compiled in one go."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from wengert.codegen.cupy_source import cupy_source
from wengert.codegen.kernel_text import format_kernel, parse_kernel
from wengert.codegen.kernel_verify import verify_kernel

HERE = Path(__file__).parent
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")


def standin():
    """The stand-in for CuPy; it is what ``import cupy`` gives from here on."""
    for folder in (HERE / "standin", HERE / "shim"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    import cupy  # noqa: PLC0415
    assert "fake" in cupy.__version__
    return cupy


class Module:
    """A generated module that has been run, and its kernels."""

    def __init__(self, source):
        self.source = source
        self.space = dict(source.data)
        exec(compile(source.text, f"<{source.name}>", "exec"), self.space)
        self.space.update(source.captured)
        raw = standin().RawKernel
        self.kernels = {n: k for n, k in self.space.items() if isinstance(k, raw)}

    def __call__(self, *args):
        """All results on the host, as a tuple."""
        cp = standin()
        given = [cp.asarray(a) if isinstance(a, np.ndarray) and a.ndim else a for a in args]
        result = self.space[self.source.name](*given)
        result = result if type(result) is tuple else (result,)
        return tuple(r.get() if isinstance(r, cp.ndarray) else np.asarray(r) for r in result)


def modules(graphs, **options):
    """A module for each graph, or the error that says why there is none; none is compiled yet."""
    out = []
    for i, graph in enumerate(graphs):
        name = f"f{i}_{graph.name}" if graph.name.isascii() else f"f{i}"
        out.append(Module(cupy_source(replace(graph, name=name), annotate=False, **options)))
    return out


def texts_of(found):
    """Text and name of all kernels."""
    return [(k.code, n) for m in found for n, k in m.kernels.items()]


def compile_all(found, check=True):
    """Compile the kernels of many modules for the shim, in one go."""
    standin()
    import emulator  # noqa: PLC0415
    emulator.batch(texts_of(found), check)


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


__all__ = ["ARCHITECTURES", "Module", "close", "compile_all", "format_kernel", "modules",
           "parse_kernel", "standin", "texts_of", "verify_kernel"]
