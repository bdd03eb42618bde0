"""Options of a compilation, and the one place that reads the environment."""

import os
from dataclasses import dataclass

LIMIT_VARIABLE = "WENGERT_MAX_SPECIALIZATIONS"


@dataclass(frozen=True)
class Options:
    """How to compile.

    Attributes:
        target: what is emitted; ``"numpy"``.
        lane: ``"scalar"`` for straight-line code on floats, ``"array"``, or ``"auto"`` by an
            estimate of cost.
        annotate: whether the user's lines stand in the source as comments.
        max_specializations: branch paths kept for one signature before tracing at each call.
    """

    target: str = "numpy"
    lane: str = "auto"
    annotate: bool = True
    max_specializations: int = int(os.environ.get(LIMIT_VARIABLE, "32"))

    def __post_init__(self) -> None:
        if self.target != "numpy":
            raise ValueError(f"target={self.target!r} is not available; use \"numpy\".")
        if self.lane not in ("auto", "scalar", "array"):
            raise ValueError(f"lane={self.lane!r} is not one of auto, scalar and array.")
