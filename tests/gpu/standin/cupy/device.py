"""Kernels and the device: everything is checked that CuPy leaves to the caller.

Argument count, dtypes, strides, aliasing of what ``__restrict__`` says is apart, limits of grids and
blocks, bounds of every access, races, and the bytes around each array.
"""

import operator
import types

import emulator
import numpy as np

import cupy

MOST_SHARED = 49152      # bytes of dynamic shared memory of a block
log = []                 # (name, grid, block, shared memory) of every launch
order = 0                # in which threads and blocks run; see the shim


class CompileException(Exception):
    """A text that is no CUDA."""


class LaunchError(RuntimeError):
    """A launch that CuPy or CUDA would refuse, or that would do harm."""


class RawKernel:
    """As CuPy's, for one architecture: this one."""

    def __init__(self, code, name, options=(), backend="nvrtc"):
        for label, v, t in (("code", code, str), ("name", name, str), ("options", options, tuple),
                            ("backend", backend, str)):
            if type(v) is not t:
                raise TypeError(f"Argument '{label}' has incorrect type (expected {t.__name__}, "
                                f"got {type(v).__name__})")
        self.code, self.name, self.options = code, name, options
        self._kernel = None

    def compile(self):
        """Compile now rather than at the first launch."""
        try:
            self._kernel = emulator.Kernel(self.code, self.name, check=True)
        except emulator.CompileError as error:
            raise CompileException(str(error)) from None

    def __call__(self, grid, block, args, *, shared_mem=0, stream=None):
        if self._kernel is None:
            self.compile()
        if type(grid) is not tuple or type(block) is not tuple:
            raise TypeError("grid and block must be tuples")
        # CuPy makes a block of none.
        grid = tuple(max(1, operator.index(g)) for g in (*grid, 1, 1)[:3])
        block = tuple(max(1, operator.index(b)) for b in (*block, 1, 1)[:3])
        if grid[0] > 2**31 - 1 or max(grid[1:]) > 65535:
            raise LaunchError(f"CUDA_ERROR_INVALID_VALUE: grid {grid}")
        if block[0] * block[1] * block[2] > 1024 or block[2] > 64:
            raise LaunchError(f"CUDA_ERROR_INVALID_VALUE: block {block}")
        if shared_mem > MOST_SHARED:
            raise LaunchError(f"CUDA_ERROR_INVALID_VALUE: {shared_mem} bytes of shared memory")
        signature = self._kernel.signature
        if len(args) != len(signature):
            raise LaunchError(f"{self.name}: {len(args)} arguments for {len(signature)} parameters")
        kept, ranges, written, read = [], [], [], []
        for i, (a, (passed, kind, size)) in enumerate(zip(args, signature, strict=True)):
            where = f"{self.name}: argument {i}"
            value = _pointer(a, where, passed, kind, size) if isinstance(a, cupy.ndarray) else \
                _number(a, where, passed, kind, size)
            kept.append(value)
            if isinstance(a, cupy.ndarray):
                ranges.append((a._a.ctypes.data, a.nbytes, size))
                (written if passed == "*" else read).append((i, a))
        for i, out in written:
            for j, other in written + read:
                if i != j and np.shares_memory(out._a, other._a):
                    raise LaunchError(f"{self.name}: arguments {i} and {j} overlap")
        log.append((self.name, grid, block, shared_mem))
        try:
            self._kernel.launch(grid, block, [v.ctypes.data for v in kept], shared_mem,
                                order=order, seed=len(log), ranges=ranges)
        except emulator.LaunchError as error:
            raise LaunchError(str(error)) from None
        for i, a in written + read:
            if a._m is not None and not a._m.intact():
                raise LaunchError(f"{self.name}: wrote outside of argument {i}")


def _pointer(a, where, passed, kind, size):
    if passed == "=":
        raise LaunchError(f"{where}: an array for a number")
    if a.dtype.kind != kind or a.dtype.itemsize != size:
        raise LaunchError(f"{where}: {a.dtype} array for a pointer to {kind}{size}")
    if not a.flags.c_contiguous:
        raise LaunchError(f"{where}: the array is not contiguous, and kernels ignore strides")
    return np.array([a._a.ctypes.data], np.uint64)


def _number(a, where, passed, kind, size):
    """A number as CuPy passes it: Python's have eight bytes, NumPy's their own."""
    if isinstance(a, np.ndarray):
        raise TypeError(f"You are trying to pass a numpy.ndarray of shape {a.shape} as a kernel "
                        "parameter.")
    if isinstance(a, np.generic):
        value = np.array([a], a.dtype)
    elif type(a) in (bool, int, float):
        value = np.array([a], {bool: np.bool_, int: np.int64, float: np.float64}[type(a)])
    else:
        raise TypeError(f"Unsupported type {type(a)}")
    if passed != "=":
        raise LaunchError(f"{where}: a number for a pointer")
    if value.dtype.kind != kind or value.dtype.itemsize != size:
        raise LaunchError(f"{where}: {value.dtype} passed for {kind}{size}")
    return value


class _Stream:
    null: "_Stream"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        return False

    def synchronize(self):
        """All is done at once here."""


_Stream.null = _Stream()
cuda = types.ModuleType("cupy.cuda")
cuda.Stream = _Stream
cuda.get_current_stream = lambda: _Stream.null
cuda.is_available = lambda: True
cuda.compiler = types.SimpleNamespace(CompileException=CompileException)
cuda.runtime = types.SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError)
cuda.nvrtc = types.SimpleNamespace(getVersion=lambda: (13, 0))
