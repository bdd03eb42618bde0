"""A graph computed on its own: what is inside is forgotten, and computed again when pulled back."""

from collections.abc import Sequence
from typing import Any

from ..arraytype import parse_type
from .body import as_type, batched_type, check_types, run_body, spread
from .row import Op, Structured


def _call(*operands: Any, types: Any, body: Any, saved: Any) -> Any:
    return tuple([as_type(v, parse_type(t))
                  for v, t in zip(run_body(body, operands), types, strict=True)])


def _type(*operands: Any, types: Any, body: Any, saved: Any) -> Any:
    check_types(body.inputs, operands)
    return tuple(map(parse_type, types))


def _push(how: Any, args: Sequence[Any], tangents: Sequence[Any], types: Any, body: Any, saved: Any
          ) -> Any:
    wrt = [i for i, t in enumerate(tangents) if t is not None]
    pushed, found = how.push(body, wrt)
    kinds = [str(parse_type(types[i]).strong) for i in found]
    results = call(*args, *[tangents[i] for i in wrt], types=(*types, *kinds), body=pushed,
                   saved=saved)
    out: list[Any] = [None] * len(types)
    for i, t in zip(found, results[len(types):], strict=True):
        out[i] = t
    return results[:len(types)], out


def _pull(how: Any, args: Sequence[Any], cts: Sequence[Any], wanted: Sequence[bool], types: Any,
          body: Any, saved: Any) -> Any:
    """Computes the body again, but for the results that are there anyhow."""
    wrt = [i for i, want in enumerate(wanted) if want]
    seeded = [i for i, ct in enumerate(cts) if ct is not None]
    out: list[Any] = [None] * len(args)
    pulled, found = how.pull(body, wrt, seeded, given=saved)
    if found:
        kept = call(*args, types=types, body=body, saved=saved) if saved else ()
        results = call(*args, *[cts[i] for i in seeded], *[kept[i] for i in saved],
                       types=tuple([str(args[i].type.strong) for i in found]), body=pulled,
                       saved=())
        for i, ct in zip(found, results, strict=True):
            out[i] = ct
    return out


def _batch(how: Any, args: Sequence[Any], batched: Sequence[bool], size: int, types: Any, body: Any,
           saved: Any) -> Any:
    many, has_axis = how.batch(body, size, batched)
    kinds = tuple([str(batched_type(parse_type(t), size)) for t in types])
    return call(*args, types=kinds, body=spread(many, has_axis, [True] * len(types), size),
                saved=saved)


# ``types`` are those of the results, as text; ``saved`` the results that are there only to be
# used when the body is pulled back.
call: Op = Op("call", _call, _type, Structured(_push, _pull, _batch),
              params=("types", "body", "saved"), bodies=("body",))
