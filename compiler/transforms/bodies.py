"""The transforms, for rules of operators whose parameters are graphs.

A rule of such a row transforms its bodies, and a transform applies the rules of the rows it meets.
The rows lie below; so each transform is entered here, and the rules are given this record.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _missing(*_: Any, **__: Any) -> Any:
    raise AssertionError("the package of transforms has not been loaded")


@dataclass
class Transforms:
    """What can be done with a body.

    Attributes:
        push: ``push(graph, wrt, filled=())`` gives a graph with tangents of the inputs ``wrt`` as
            further inputs, and tangents of outputs as further outputs; and the positions of these,
            all that may differ from zero and ``filled``.
        pull: ``pull(graph, wrt, seeded, sums=(), filled=(), given=())`` gives a graph whose further
            inputs are cotangents of the outputs ``seeded``, sums so far for the inputs ``sums`` and
            values of the outputs ``given``, and whose outputs are cotangents of inputs; and the
            positions of these among ``wrt``.
        batch: see ``batch.py``.
        inline: ``inline(anchor, graph, args)`` applies a graph where the traced ``anchor`` lives.
    """

    push: Callable[..., Any] = _missing
    pull: Callable[..., Any] = _missing
    batch: Callable[..., Any] = _missing
    inline: Callable[..., Any] = _missing


HOW = Transforms()
