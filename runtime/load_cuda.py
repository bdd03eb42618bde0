"""Programs for the GPU: loading them, and telling its arrays; the only importer of CuPy."""

import importlib
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..codegen.source import Source
from ..compiler.arraytype import ArrayType
from ..compiler.errors import DeviceArrayError, NoDeviceError
from ..compiler.trace.stage import definition


def is_device_array(leaf: Any) -> bool:
    """Whether a leaf is an array of CuPy's; nothing is imported for that."""
    kind = type(leaf)
    return kind.__name__ == "ndarray" and kind.__module__.partition(".")[0] == "cupy"


def share_memory(a: Any, b: Any) -> bool:
    """Whether two arguments may be arrays of the same memory, here or on the GPU."""
    if is_device_array(a) and is_device_array(b):
        return bool(importlib.import_module("cupy").may_share_memory(a, b))
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b)


def to_host(leaves: Iterable[Any]) -> list[Any]:
    """The leaves with copies of the GPU's arrays."""
    return [_copied(leaf) if is_device_array(leaf) else leaf for leaf in leaves]


def _copied(leaf: Any) -> Any:
    found = leaf.get()
    return found[()] if found.ndim == 0 else found


def types_of(leaves: Iterable[Any]) -> list[Any]:
    """The leaves with types in place of the GPU's arrays."""
    return [ArrayType(leaf.shape, leaf.dtype) if is_device_array(leaf) else leaf
            for leaf in leaves]


def on_device(inputs: Sequence[Any], function: Any) -> list[Any]:
    """Arguments as programs for the GPU take them: arrays there, single numbers here.

    Raises:
        DeviceArrayError: if an array is NumPy's.
        NoDeviceError: if there is no GPU at all.
    """
    out = []
    for value in inputs:
        if isinstance(value, np.ndarray) and value.ndim:
            check_device()
            raise DeviceArrayError(
                f"An argument is an array of NumPy's, of shape {value.shape}, and target=\"cupy\" "
                "computes on the GPU.", "Pass cupy.asarray(array), or leave target out.",
                definition(function))
        one = is_device_array(value) and value.ndim == 0
        out.append(_copied(value) if one else value[()] if isinstance(value, np.ndarray)
                   else value)
    return out


def status() -> tuple[bool, str]:
    """Whether kernels can be compiled and run, and what is missing if not."""
    try:
        cupy = importlib.import_module("cupy")
    except Exception as error:              # a folder that cannot be made raises FileNotFoundError
        return False, f"cupy cannot be imported: {type(error).__name__}: {error}"
    try:
        n = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:              # CUDARuntimeError, a class of CuPy's
        return False, f"no GPU can be used: {type(error).__name__}: {error}"
    if n == 0:
        return False, "no GPU is visible"
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception as error:
        return False, f"NVRTC cannot be loaded: {error}"
    return True, f"{n} device(s)"


def check_device() -> None:
    """CuPy and a GPU are there.

    Raises:
        NoDeviceError: if not.
    """
    usable, reason = status()
    if not usable:
        raise NoDeviceError(
            f"target=\"cupy\" needs CuPy and an NVIDIA GPU, and {reason}.",
            "Install the driver and CuPy with its compiler (pip install \"cupy-cuda13x[ctk]\"), "
            "or use target=\"numpy\"; .specialize(...).source works without.")


def load_later(source: Source, module: ModuleType, filename: str) -> Callable[..., Any]:
    """The module's function, which runs the module when it is called for the first time."""
    space = module.__dict__

    def start() -> Callable[..., Any]:
        if source.name not in space:
            check_device()
            other_branch = space.get("other_branch")
            exec(compile(source.text, filename, "exec"), space)      # the text is our own
            space.update(source.captured)
            if other_branch is not None:
                space["other_branch"] = other_branch
        return space[source.name]                                    # type: ignore[no-any-return]
    # Its names are the module's: there a caller puts what a branch is handed over to.
    space["start_module"] = start
    exec("def later(*args):\n    return start_module()(*args)\n", space)
    return space["later"]                                            # type: ignore[no-any-return]
