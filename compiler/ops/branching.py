"""A choice between two graphs, of which only the chosen one is computed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arraytype import parse_type
from .body import as_type, batched_type, check_types, run_body, spread
from .comparison import where
from .row import Op, Structured


def _call(pred: Any, *operands: Any, types: Any, yes: Any, no: Any) -> Any:
    out = run_body(yes if pred else no, operands)
    return tuple([as_type(v, parse_type(t)) for v, t in zip(out, types, strict=True)])


def _type(pred: Any, *operands: Any, types: Any, yes: Any, no: Any) -> Any:
    check_types(yes.inputs, operands)
    check_types(no.inputs, operands)
    return tuple(map(parse_type, types))


def _push(how: Any, args: Sequence[Any], tangents: Sequence[Any], types: Any, yes: Any, no: Any
          ) -> Any:
    wrt = [i for i, t in enumerate(tangents[1:]) if t is not None]
    found = sorted({i for body in (yes, no) for i in how.push(body, wrt)[1]})
    pushed = [how.push(body, wrt, filled=found)[0] for body in (yes, no)]
    kinds = [str(parse_type(types[i]).strong) for i in found]
    results = cond(*args, *[tangents[1 + i] for i in wrt], types=(*types, *kinds),
                   yes=pushed[0], no=pushed[1])
    values = results[:len(types)]
    out: list[Any] = [None] * len(types)
    for i, t in zip(found, results[len(types):], strict=True):
        out[i] = t
    return values, out


def _pull(how: Any, args: Sequence[Any], cts: Sequence[Any], wanted: Sequence[bool], types: Any,
          yes: Any, no: Any) -> Any:
    """The cotangents of the branch that was chosen; the other contributes nothing, not even NaN."""
    wrt = [i for i, want in enumerate(wanted[1:]) if want]
    seeded = [i for i, ct in enumerate(cts) if ct is not None]
    found = sorted({i for body in (yes, no) for i in how.pull(body, wrt, seeded)[1]})
    out: list[Any] = [None] * len(args)
    if found:
        pulled = [how.pull(body, wrt, seeded, filled=found)[0] for body in (yes, no)]
        kinds = tuple([str(args[1 + i].type.strong) for i in found])
        results = cond(*args, *[cts[i] for i in seeded], types=kinds, yes=pulled[0],
                       no=pulled[1])
        for i, ct in zip(found, results, strict=True):
            out[1 + i] = ct
    return out


def _batch(how: Any, args: Sequence[Any], batched: Sequence[bool], size: int, types: Any, yes: Any,
           no: Any) -> Any:
    """With one decision for all a choice between batches; else both, and a selection."""
    bodies = []
    for body in (yes, no):
        many, has_axis = how.batch(body, size, batched[1:])
        bodies.append(spread(many, has_axis, [True] * len(types), size))
    if not batched[0]:
        kinds = tuple([str(batched_type(parse_type(t), size)) for t in types])
        return cond(*args, types=kinds, yes=bodies[0], no=bodies[1])
    pred, *operands = args
    chosen, other = (how.inline(pred, body, operands) for body in bodies)
    return tuple([where(np.reshape(pred, (size, *(1,) * (x.ndim - 1))), x, y)
                  for x, y in zip(chosen, other, strict=True)])


# ``types`` are those of the results, as text: a branch may give a plain number for NumPy's.
cond: Op = Op("cond", _call, _type, Structured(_push, _pull, _batch), params=("types", "yes", "no"),
              bodies=("yes", "no"), fresh=False)

