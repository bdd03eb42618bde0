"""The pipeline, as one visible tuple."""

import functools
from collections.abc import Callable

from ..graph import Graph, has_bodies, with_bodies
from ..verify import verify
from .canonical import assemble, lower_products, single_results, take_in_signs
from .dead import remove_dead, settle_ties
from .expand import expand
from .fuse import fuse
from .narrow import narrow
from .scalarize import scalarize
from .shifts import settle_shifts
from .simplify import simplify
from .smooth import smooth

Pass = Callable[[Graph], Graph]


def _deep(one: Pass) -> Pass:
    """The pass applied to a graph and to the bodies of its loops and branches."""
    @functools.wraps(one)
    def applied(graph: Graph) -> Graph:
        return with_bodies(one(graph), applied)
    return applied


def _all_deep(*passes: Pass) -> tuple[Pass, ...]:
    return tuple(map(_deep, passes))


# Before differentiation: what the user wrote, in its stable form.
PREPARE: tuple[Pass, ...] = _all_deep(remove_dead, narrow, simplify, settle_shifts, smooth,
                                      remove_dead)

# After it. ``lower_products`` uncovers nothing new, so one simplification is enough.
SIMPLE: tuple[Pass, ...] = _all_deep(settle_ties, expand, remove_dead, narrow, simplify,
                                     remove_dead)
LOWER: tuple[Pass, ...] = _all_deep(lower_products, take_in_signs, assemble, single_results,
                                    remove_dead)
PIPELINE: tuple[Pass, ...] = SIMPLE + LOWER
# Graphs with bodies are not scalarized.
SCALAR: tuple[Pass, ...] = (scalarize, remove_dead, simplify, remove_dead, lower_products,
                            take_in_signs, remove_dead)
NATIVE: tuple[Pass, ...] = (fuse,)

VERIFY_AFTER_EVERY_PASS = False      # switched on by the test-suite


def run(graph: Graph, passes: tuple[Pass, ...] = PIPELINE, stop_after: str | None = None) -> Graph:
    """Apply the passes in order.

    Args:
        graph: to transform.
        passes: which, in order.
        stop_after: name of the pass whose result is wanted.
    """
    if VERIFY_AFTER_EVERY_PASS:
        verify(graph)
    deep = has_bodies(graph)
    for one in passes:
        graph = one(graph) if deep else getattr(one, "__wrapped__", one)(graph)
        if one.__name__ == expand.__name__:          # what is written out may hold loops
            deep = has_bodies(graph)
        if VERIFY_AFTER_EVERY_PASS:
            verify(graph)
        if one.__name__ == stop_after:
            return graph
    return graph
