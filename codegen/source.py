"""Generated source and the data it needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..compiler.graph import Node


@dataclass(frozen=True)
class KernelCall:
    """How a kernel is called: ``(dtype, shape, weak)`` of its arguments and of its results.

    Attributes:
        name: of the function in the C text.
        inputs: of the arguments.
        outputs: of the results.
        scratch: bytes of memory it needs while it runs.
        work: an estimate of its cost, in additions.
    """

    name: str
    inputs: tuple[tuple[str, tuple[int, ...], bool], ...]
    outputs: tuple[tuple[str, tuple[int, ...], bool], ...]
    scratch: int
    work: int


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
        deferred: name of the module's last function if it is seldom called, else "".
        c: the C text of the kernels that the module calls.
        kernels: these.
        on_device: whether the module needs CuPy and a GPU.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    data: dict[str, Any] = field(default_factory=dict)
    captured: dict[str, Any] = field(default_factory=dict)
    calls_other_branch: bool = False
    deferred: str = ""
    c: str = ""
    kernels: tuple[KernelCall, ...] = ()
    on_device: bool = False

    @property
    def shown(self) -> str:
        """The module, and the C text below it."""
        return f"{self.text}\n\n# The kernels, in C:\n\n{self.c}" if self.c else self.text


class Function(NamedTuple):
    """A printed function."""

    name: str
    parameters: Sequence[str]
    lines: Sequence[str]


class Event(NamedTuple):
    """What a statement does to memory.

    Attributes:
        node: what is computed, with all that is written inside of its expression; None: a name is
            given up.
        name: the variable that is set, or given up; "" for what is not stored.
        into: the variable in whose memory the result is computed, or "".
    """

    node: Node | None
    name: str = ""
    into: str = ""
