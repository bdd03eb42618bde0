"""Generated source and the data it needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Source:
    """A Python module.

    Attributes:
        name: of its one public function.
        text: the module; it runs wherever NumPy (and SciPy, when imported) does.
        parameters: names of the function's parameters.
        data: arrays that are too large to print; the loader puts them into the module.
        captured: arrays of the user's that stay by reference.
        calls_other_branch: whether the function hands over when a guard does not hold.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    data: dict[str, Any] = field(default_factory=dict)
    captured: dict[str, Any] = field(default_factory=dict)
    calls_other_branch: bool = False


class Function(NamedTuple):
    """A printed function."""

    name: str
    parameters: Sequence[str]
    lines: Sequence[str]
