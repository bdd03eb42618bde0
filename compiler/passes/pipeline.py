"""The pipeline, as one visible tuple."""

from collections.abc import Callable

from ..graph import Graph
from ..verify import verify
from .canonical import assemble, flip_differences, lower_products, single_results
from .dead import remove_dead
from .expand import expand
from .fuse import fuse
from .scalarize import scalarize
from .shifts import settle_shifts
from .simplify import simplify
from .smooth import smooth

Pass = Callable[[Graph], Graph]

# Before differentiation: what the user wrote, in its stable form.
PREPARE: tuple[Pass, ...] = (remove_dead, simplify, settle_shifts, smooth, remove_dead)

# After it. ``lower_products`` uncovers nothing new, so one simplification is enough.
SIMPLE: tuple[Pass, ...] = (expand, remove_dead, simplify, remove_dead)
LOWER: tuple[Pass, ...] = (lower_products, flip_differences, assemble,
                            single_results, remove_dead)
PIPELINE: tuple[Pass, ...] = SIMPLE + LOWER
SCALAR: tuple[Pass, ...] = (scalarize, remove_dead, simplify, remove_dead, lower_products,
                            flip_differences, remove_dead)
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
    for one in passes:
        graph = one(graph)
        if VERIFY_AFTER_EVERY_PASS:
            verify(graph)
        if one.__name__ == stop_after:
            return graph
    return graph
