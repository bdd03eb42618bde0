"""Loops whose body is a graph, and the pulling back of cotangents through them.

There are two rows. ``loop`` runs; ``pull_loop`` runs, too, keeping states, and then pulls
cotangents back step by step. Its own derivatives need no third row. Let f be the loop and
F(x, ẋ) = (f, f′ẋ) the loop that pushes tangents, which is a loop as well. Pulling (a, ct) back
through F gives a·f′ + ct·f″ẋ for x. Therefore

* the tangent of ``pull_loop`` along ẋ and ȧ is F pulled back with the cotangents (ȧ, ct);
* a cotangent z of ``pull_loop``'s result pulls back to F's second result along z, for ct, and to
  F pulled back with (0, ct), for x.

(The symmetry of second derivatives; see Griewank and Walther, *Evaluating Derivatives*, 2nd ed.,
SIAM 2008, chapter 5.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..graph import Builder, Graph, inline
from . import comparison, layout, reduction
from .body import (
    as_type,
    check_types,
    run_body,
    spread,
    with_inputs,
    with_outputs,
)
from .row import Op, Structured

LOOP = ("test", "body", "length", "start", "carried", "sliced", "snapshots", "on_disk")
Indices = Sequence[int]


@dataclass(frozen=True)
class Loop:
    """What a loop is, as the parameters of its node say it.

    The operands are the carry, arrays of which each step takes a slice, and what all steps read.

    Attributes:
        test: of the carry and what all steps read, whether there is another step; None to count.
        body: of (the counter, if there is one), the carry, the slices and what all steps read; it
            gives the next carry and this step's slices of the results.
        length: number of steps, without a test.
        start: of the counter; None if there is none.
        carried: how many operands are the carry.
        sliced: how many are sliced.
        snapshots: how many states reverse mode may keep; None for its own choice.
        on_disk: how many more it may keep in a file; None for none.
    """

    test: Graph | None
    body: Graph
    length: int | None
    start: int | None
    carried: int
    sliced: int
    snapshots: int | None
    on_disk: int | None = None

    @property
    def params(self) -> dict[str, Any]:
        """As parameters of a node."""
        return {name: getattr(self, name) for name in LOOP}

    @property
    def first(self) -> int:
        """How many inputs of the body come before the carry."""
        return int(self.start is not None)

    @property
    def n_slices(self) -> int:
        """How many results are made of slices."""
        return len(self.body.outputs) - self.carried

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The body's inputs for the operands."""
        return self.body.inputs[self.first:]


def states(loop: Loop, args: Sequence[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """For each step the body's arguments and its outputs."""
    carry = [as_type(v, n.type) for v, n in zip(args, loop.inputs[:loop.carried], strict=False)]
    slices = args[loop.carried:loop.carried + loop.sliced]
    fixed = args[loop.carried + loop.sliced:]
    step = 0
    while run_body(loop.test, [*carry, *fixed])[0] if loop.test is not None else \
            step < (loop.length or 0):
        counter = [] if loop.start is None else [loop.start + step]
        given = [*counter, *carry, *[x[step] for x in slices], *fixed]
        out = run_body(loop.body, given)
        carry = [as_type(v, n.type) for v, n in zip(out, loop.inputs[:loop.carried],
                                                    strict=False)]
        yield given, [*carry, *out[loop.carried:]]
        step += 1


def _call(*args: Any, **params: Any) -> Any:
    loop = Loop(**params)
    carry = [as_type(v, n.type) for v, n in zip(args, loop.inputs[:loop.carried], strict=False)]
    slices: list[list[Any]] = [[] for _ in range(loop.n_slices)]
    for _, out in states(loop, args):
        carry = out[:loop.carried]
        for row, value in zip(slices, out[loop.carried:], strict=True):
            row.append(value)
    types = _type(*[None] * len(args), **params)[loop.carried:]
    return (*carry, *[np.array(row, t.dtype).reshape(t.shape)
                      for row, t in zip(slices, types, strict=True)])


def _stacked(loop: Loop, type: ArrayType) -> ArrayType:
    assert loop.length is not None
    return ArrayType((loop.length, *type.shape), type.dtype)


def _type(*types: Any, **params: Any) -> Any:
    loop = Loop(**params)
    inner = [t._replace(shape=t.shape[1:]) if t is not None and
             loop.carried <= i < loop.carried + loop.sliced else t for i, t in enumerate(types)]
    if None not in types:
        check_types(loop.inputs, inner)
    return (*[n.type for n in loop.inputs[:loop.carried]],
            *[_stacked(loop, n.type) for n in loop.body.outputs[loop.carried:]])


# -- forward mode -------------------------------------------------------------------------------


def _pushed(how: Any, args: Sequence[Any], tangents: Sequence[Any], loop: Loop
            ) -> tuple[Loop, list[Any], list[int]]:
    """The loop that carries tangents along, its operands, and which results have tangents.

    Its carry is the carry and then its tangents, and so with the slices and the rest.
    """
    n, k = loop.carried, loop.carried + loop.sliced
    live = [i for i, t in enumerate(tangents) if t is not None]
    while True:
        _, found = how.push(loop.body, [loop.first + i for i in live])
        more = sorted({*live, *[i for i in found if i < n]})
        if more == live:
            break
        live = more
    body, found = how.push(loop.body, [loop.first + i for i in live],
                           filled=[i for i in live if i < n])
    given, made = len(loop.body.inputs), len(loop.body.outputs)
    parts = [(0, n), (n, k), (k, len(args))]
    inputs = [*body.inputs[:loop.first]]
    operands = []
    for start, stop in parts:
        inputs += [body.inputs[loop.first + i] for i in range(start, stop)]
        inputs += [body.inputs[given + j] for j, i in enumerate(live) if start <= i < stop]
        operands += [*args[start:stop], *[
            np.zeros_like(args[i]) if tangents[i] is None else tangents[i]
            for i in live if start <= i < stop]]
    outputs = [*range(n), *[made + j for j, i in enumerate(found) if i < n], *range(n, made),
               *[made + j for j, i in enumerate(found) if i >= n]]
    test = loop.test
    if test is not None:
        fixed = [i for i in live if i >= k]
        test = with_inputs(test, [
            *test.inputs[:n], *[args[i].type.strong for i in live if i < n],
            *test.inputs[n:], *[args[i].type.strong for i in fixed]])
    new = replace(loop, test=test, body=with_outputs(with_inputs(body, inputs), outputs),
                  carried=n + sum(i < n for i in live),
                  sliced=loop.sliced + sum(n <= i < k for i in live))
    return new, operands, list(found)


def _places(loop: Loop, found: Indices) -> tuple[list[int], dict[int, int]]:
    """Of the loop that pushes: where the values are among its results, and where the tangents."""
    n = loop.carried
    carry = [i for i in found if i < n]
    slices = [i for i in found if i >= n]
    made = n + loop.n_slices
    values = [*range(n), *range(n + len(carry), made + len(carry))]
    return values, {**{i: n + j for j, i in enumerate(carry)},
                    **{i: made + len(carry) + j for j, i in enumerate(slices)}}


def _push(how: Any, args: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    own = Loop(**params)
    pushed, operands, found = _pushed(how, args, tangents, own)
    results = loop(*operands, **pushed.params)
    values, places = _places(own, found)
    return (tuple([results[i] for i in values]),
            [results[places[i]] if i in places else None for i in range(len(values))])


# -- reverse mode -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pull:
    """How cotangents are pulled back through a loop.

    Attributes:
        pulled: of the body's inputs, the cotangents of the active carry and of the seeded slices,
            and the sums so far of the cotangents of what all steps read; it gives the
            cotangents of the active carry, of the wanted slices, and the sums.
        active: which of the carry has cotangents.
        seeded: which results that are made of slices have cotangents.
        returned: the operands other than the carry of which cotangents are returned.
    """

    pulled: Graph
    active: tuple[int, ...]
    seeded: tuple[int, ...]
    returned: tuple[int, ...]

    @property
    def params(self) -> dict[str, Any]:
        """As parameters of a node."""
        return {name: getattr(self, name) for name in PULL}


PULL = ("pulled", "active", "seeded", "returned")


def _pull(how: Any, args: Sequence[Any], cts: Sequence[Any], wanted: Sequence[bool], **params: Any
          ) -> list[Any]:
    own = Loop(**params)
    n, k, first = own.carried, own.carried + own.sliced, own.first
    seeded = [i for i in range(n, len(cts)) if cts[i] is not None]
    others = [i for i in range(n, len(args)) if wanted[i]]
    sums = [first + i for i in others if i >= k]
    varied = _varied(how, own, [i for i, want in enumerate(wanted) if want])
    active = [i for i in varied if cts[i] is not None]
    while True:
        wrt = [first + i for i in (*varied, *others)]
        _, found = how.pull(own.body, wrt, [*active, *seeded], sums=sums)
        more = [i for i in varied if i in active or first + i in found]
        if more == active:
            break
        active = more
    if not active and not seeded:
        return [None] * len(args)
    wrt = [first + i for i in (*active, *others)]
    pulled, _ = how.pull(own.body, wrt, [*active, *seeded], sums=sums, filled=wrt)
    pull = Pull(pulled, tuple(active), tuple(i - n for i in seeded), tuple(others))
    seeds = [np.zeros_like(args[i]) if cts[i] is None else cts[i] for i in active]
    results = pull_loop(*args, *seeds, *[cts[i] for i in seeded], **own.params, **pull.params)
    out: list[Any] = [None] * len(args)
    for i, ct in zip((*active, *others), results, strict=True):
        out[i] = ct if wanted[i] else None
    return out


def _varied(how: Any, loop: Loop, wanted: Indices) -> list[int]:
    """Which of the carry depend on the wanted operands after some step."""
    live = list(wanted)
    while True:
        _, found = how.push(loop.body, [loop.first + i for i in live])
        more = sorted({*live, *[i for i in found if i < loop.carried]})
        if more == live:
            return [i for i in live if i < loop.carried]
        live = more


def _split(args: Sequence[Any], params: Any) -> tuple[Loop, Pull, Sequence[Any], Sequence[Any]]:
    """Of a ``pull_loop``: the loop, how it is pulled, its operands and the cotangents."""
    own = Loop(**{name: params[name] for name in LOOP})
    pull = Pull(**{name: params[name] for name in PULL})
    n_args = len(own.inputs)
    return own, pull, args[:n_args], args[n_args:]


def _pull_call(*args: Any, **params: Any) -> Any:
    own, pull, operands, cts = _split(args, params)
    n_active, k = len(pull.active), own.carried + own.sliced
    sums = [np.zeros(node.type.shape, node.type.dtype)[()]
            for node in pull.pulled.inputs[len(own.body.inputs) + len(cts):]]
    slices: list[list[Any]] = [[] for i in pull.returned if i < k]
    carry, seeds = list(cts[:n_active]), cts[n_active:]
    steps = list(states(own, operands))
    for step in reversed(range(len(steps))):
        out = run_body(pull.pulled, [*steps[step][0], *carry, *[s[step] for s in seeds], *sums])
        carry, rows = out[:n_active], out[n_active:n_active + len(slices)]
        sums = out[n_active + len(slices):]
        for row, value in zip(slices, rows, strict=True):
            row.insert(0, value)
    types = _pull_type(*[None] * len(args), **params)
    values = [*carry, *[np.array(row, t.dtype).reshape(t.shape)
                        for row, t in zip(slices, types[n_active:], strict=False)], *sums]
    return tuple([as_type(v, t) for v, t in zip(values, types, strict=True)])


def _pull_type(*types: Any, **params: Any) -> Any:
    own, pull, operands, _ = _split(types, params)
    if None not in types:
        _type(*operands, **own.params)
    k = own.carried + own.sliced
    carry = [own.inputs[i].type.strong for i in pull.active]
    slices = [_stacked(own, own.inputs[i].type) for i in pull.returned if i < k]
    return (*carry, *slices, *[own.inputs[i].type.strong for i in pull.returned if i >= k])


def _results_of(pull: Pull) -> tuple[int, ...]:
    """The operands whose cotangents a ``pull_loop`` gives."""
    return (*pull.active, *pull.returned)


def _flags(n: int, chosen: Indices) -> list[bool]:
    return [i in chosen for i in range(n)]


def _seeds(own: Loop, pull: Pull, cts: Sequence[Any]) -> list[Any]:
    """The cotangents in the order of the loop's results, None for zero."""
    out: list[Any] = [None] * (own.carried + own.n_slices)
    for i, ct in zip((*pull.active, *[own.carried + j for j in pull.seeded]), cts, strict=True):
        out[i] = ct
    return out


def _push_pull(how: Any, args: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    own, pull, operands, cts = _split(args, params)
    values = pull_loop(*args, **params)
    given = _results_of(pull)
    ts = tangents[:len(operands)]
    pushed, new, found = _pushed(how, operands, ts, own)
    positions, places = _places(own, found)
    seeds: list[Any] = [None] * (pushed.carried + pushed.n_slices)
    for i, (ct, t_ct) in enumerate(zip(_seeds(own, pull, cts), _seeds(
            own, pull, tangents[len(operands):]), strict=True)):
        seeds[positions[i]] = t_ct
        if i in places:
            seeds[places[i]] = ct
    at = _operand_places(own, ts, pushed)
    pulled = _pull(how, new, seeds, _flags(len(new), [at[i] for i in given]), **pushed.params)
    return values, [pulled[at[i]] for i in given]


def _operand_places(own: Loop, tangents: Sequence[Any], pushed: Loop) -> list[int]:
    """Where the loop's operands are among those of the loop that pushes."""
    n, k = own.carried, own.carried + own.sliced
    more_slices = pushed.sliced - own.sliced
    return [i if i < n else i + pushed.carried - n if i < k else
            i + pushed.carried - n + more_slices for i in range(len(tangents))]


def _pull_pull(how: Any, args: Sequence[Any], cts: Sequence[Any], wanted: Sequence[bool],
               **params: Any) -> list[Any]:
    own, pull, operands, own_cts = _split(args, params)
    z: list[Any] = [None] * len(operands)
    for i, ct in zip(_results_of(pull), cts, strict=True):
        z[i] = ct
    pushed, new, found = _pushed(how, operands, z, own)
    _, places = _places(own, found)
    out: list[Any] = [None] * len(args)
    if any(wanted[len(operands):]):
        results = loop(*new, **pushed.params)
        for j, i in enumerate((*pull.active, *[own.carried + j for j in pull.seeded])):
            if i in places:
                out[len(operands) + j] = results[places[i]]
    seeds: list[Any] = [None] * (pushed.carried + pushed.n_slices)
    for i, ct in enumerate(_seeds(own, pull, own_cts)):
        if i in places:
            seeds[places[i]] = ct
    at = _operand_places(own, z, pushed)
    chosen = [at[i] for i in range(len(operands)) if wanted[i]]
    pulled = _pull(how, new, seeds, _flags(len(new), chosen), **pushed.params)
    for i in range(len(operands)):
        out[i] = pulled[at[i]] if wanted[i] else None
    return out


# -- batching -----------------------------------------------------------------------------------


def _batched(how: Any, args: Sequence[Any], batched: Sequence[bool], size: int, own: Loop
             ) -> tuple[Loop, list[Any], list[bool]]:
    """The loop over batches, its operands, and which of its results have the batch axis.

    Slices have it second, behind the steps.
    """
    n, k = own.carried, own.carried + own.sliced
    counter = [False] * own.first
    flags = list(batched)
    decides_each = False
    while True:
        many, has_axis = how.batch(own.body, size, [*counter, *flags])
        more = [f or (i < n and has_axis[i]) for i, f in enumerate(flags)]
        if own.test is not None:
            test, (decides_each,) = how.batch(own.test, size, [*more[:n], *more[k:]])
            more = [f or (i < n and decides_each) for i, f in enumerate(more)]
        if more == flags:
            break
        flags = more
    body = spread(many, has_axis, [*flags[:n], *has_axis[n:]], size)
    new = replace(own, body=body, test=None if own.test is None else test)
    if decides_each:
        new = replace(new, body=_where_running(new, size), test=_any(new))
    operands = []
    for i, (x, was) in enumerate(zip(args, batched, strict=True)):
        if n <= i < k and was:
            x = np.moveaxis(x, 0, 1)
        elif flags[i] and not was:
            x = layout.broadcast_to(x, shape=(size, *x.shape))
        operands.append(x)
    return new, operands, [*flags[:n], *has_axis[n:]]


def _where_running(own: Loop, size: int) -> Graph:
    """The body for a batch of which some are done: these keep their state."""
    assert own.test is not None
    builder = Builder(own.body.name)
    inputs = [builder.input(n.type, n.origin.name if n.origin else None)
              for n in own.body.inputs]
    (running,) = inline(builder, own.test, inputs)
    outputs = []
    for new, old in zip(inline(builder, own.body, inputs), inputs[:own.carried], strict=True):
        mask = builder.emit(layout.reshape, (running,), ((size, *(1,) * (new.type.ndim - 1)),))
        outputs.append(builder.emit(comparison.where, (mask, new, old)))
    return builder.graph(outputs)


def _any(own: Loop) -> Graph:
    """Whether any of a batch goes on."""
    assert own.test is not None
    builder = Builder(own.test.name)
    inputs = [builder.input(n.type, n.origin.name if n.origin else None)
              for n in own.test.inputs]
    (running,) = inline(builder, own.test, inputs)
    return builder.graph([builder.emit(reduction.any, (running,), ((0,), False))])


def _batch(how: Any, args: Sequence[Any], batched: Sequence[bool], size: int, **params: Any) -> Any:
    own = Loop(**params)
    new, operands, has_axis = _batched(how, args, batched, size, own)
    results = loop(*operands, **new.params)
    return tuple([
        layout.broadcast_to(x, shape=(size, *x.shape)) if not b else
        np.moveaxis(x, 1, 0) if i >= own.carried else x
        for i, (x, b) in enumerate(zip(results, has_axis, strict=True))])


def _batch_pull(how: Any, args: Sequence[Any], batched: Sequence[bool], size: int, **params: Any
                ) -> Any:
    own, pull, operands, cts = _split(args, params)
    given = _results_of(pull)
    k = own.carried + own.sliced

    def each(x: Any, was: bool) -> Any:
        return x if was else layout.broadcast_to(x, shape=(size, *x.shape))
    flags = [b or i in given for i, b in enumerate(batched[:len(operands)])]
    full = [each(x, b) if f else x for x, b, f in zip(operands, batched, flags, strict=False)]
    new, moved, has_axis = _batched(how, full, flags, size, own)
    seeds: list[Any] = [None if ct is None else each(ct, b) for ct, b in zip(
        _seeds(own, pull, cts), _seeds(own, pull, batched[len(operands):]), strict=True)]
    for i, b in enumerate(has_axis):
        if seeds[i] is not None:
            if i >= own.carried:
                seeds[i] = np.moveaxis(seeds[i], 0, 1)
            if not b:                      # the result is the same for all of the batch
                seeds[i] = np.sum(seeds[i], axis=1 if i >= own.carried else 0)
    pulled = _pull(how, moved, seeds, _flags(len(moved), given), **new.params)
    out = []
    for i in given:
        ct = pulled[i]
        if ct is None:
            ct = np.zeros_like(each(operands[i], False))
        elif own.carried <= i < k:
            ct = np.moveaxis(ct, 1, 0)
        out.append(ct)
    return tuple(out)


loop: Op = Op("loop", _call, _type, Structured(_push, _pull, _batch), params=LOOP,
              bodies=("test", "body"), fresh=False)
pull_loop: Op = Op("pull_loop", _pull_call, _pull_type,
                   Structured(_push_pull, _pull_pull, _batch_pull), params=(*LOOP, *PULL),
                   bodies=("test", "body", "pulled"), fresh=False)
