"""Options of a compilation, and the one place that reads the environment."""

import os
from dataclasses import dataclass
from pathlib import Path

LIMIT_VARIABLE = "WENGERT_MAX_SPECIALIZATIONS"
CACHE_VARIABLE = "WENGERT_CACHE_DIR"
THREADS_VARIABLE = "WENGERT_NUM_THREADS"
TARGETS = ("auto", "numpy", "native", "cupy")


@dataclass(frozen=True)
class Options:
    """How to compile.

    Attributes:
        target: what is emitted; ``"numpy"``, ``"native"`` for compiled C, ``"cupy"`` for a GPU, or
            ``"auto"``: ``"cupy"`` where an argument is an array of CuPy's, else ``"numpy"``.
        lane: ``"scalar"`` for straight-line code on floats, ``"array"``, or ``"auto"`` by an
            estimate of cost.
        accuracy: of compiled functions; ``"fast"`` or ``"strict"``.
        deterministic: whether programs for the GPU give the same bits at every run.
        annotate: whether the user's lines stand in the source as comments.
        max_specializations: branch paths kept for one signature before tracing at each call.
    """

    target: str = "auto"
    lane: str = "auto"
    annotate: bool = True
    accuracy: str = "fast"
    deterministic: bool = True
    max_specializations: int = int(os.environ.get(LIMIT_VARIABLE, "32"))

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise ValueError(f"target={self.target!r} is not available; use \"numpy\", "
                             "\"native\" or \"cupy\".")
        if self.lane not in ("auto", "scalar", "array"):
            raise ValueError(f"lane={self.lane!r} is not one of auto, scalar and array.")
        if self.accuracy not in ("fast", "strict"):
            raise ValueError(f"accuracy={self.accuracy!r} is neither fast nor strict.")


def cache_folder() -> Path:
    """Where compiled libraries are to be kept."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "wengert"


def compiler_command() -> list[str]:
    """The C compiler the user names."""
    return os.environ.get("CC", "").split()


def thread_count() -> int:
    """Threads for large kernels: as the user says, or as many as there are processors."""
    given = os.environ.get(THREADS_VARIABLE, "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
