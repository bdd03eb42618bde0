"""Programs for the GPU: loading them, and telling its arrays; the only importer of CuPy."""

import importlib
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..codegen.source import Source
from ..compiler.errors import DeviceArrayError, NoDeviceError


def is_device_array(leaf: Any) -> bool:
    """Whether a leaf is an array of CuPy's; nothing is imported for that."""
    kind = type(leaf)
    return kind.__name__ == "ndarray" and kind.__module__.partition(".")[0] == "cupy"


def to_host(leaves: Iterable[Any]) -> list[Any]:
    """The leaves with copies of the GPU's arrays."""
    return [_copied(leaf) if is_device_array(leaf) else leaf for leaf in leaves]


def _copied(leaf: Any) -> Any:
    found = leaf.get()
    return found[()] if found.ndim == 0 else found


def numbers_to_host(leaves: Sequence[Any]) -> list[Any]:
    """The leaves with the GPU's single numbers as NumPy's; programs take those from the host."""
    return [_copied(leaf) if is_device_array(leaf) and leaf.ndim == 0 else leaf
            for leaf in leaves]


def check_device_arrays(inputs: Sequence[Any], names: Sequence[str]) -> None:
    """The arrays among the arguments of a program for the GPU are there.

    Raises:
        DeviceArrayError: if one is NumPy's.
    """
    for value, name in zip(inputs, names, strict=True):
        if isinstance(value, np.ndarray):
            raise DeviceArrayError(
                f"The argument {name} is an array of NumPy's, and target=\"cupy\" computes on "
                "the GPU.", f"Pass cupy.asarray({name}), or leave target out.")


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
