"""The last steps of lowering: loops merged into one, cut into chunks, marked for SIMD."""

from collections.abc import Sequence
from typing import Any

from .evaluate import linear
from .kernel import (
    CHUNK,
    Index,
    Let,
    Load,
    Local,
    Loop,
    Nest,
    Position,
    Ref,
    Start,
    Statement,
    Store,
    Update,
    Wrap,
    renamed,
    variable,
    walk,
    without_dead,
)
from .plan import own_cost
from .roots import shape_size
from .skipped import skipped

CHUNK_WORK = 100_000     # additions
MOST_CHUNKS = 64
MOST_COPIES = 8          # of a whole array of partial sums,
GRAIN = 16               # where each of its elements is added to more often than that


def cut(statements: Sequence[Statement], partial: Sequence[Any], columns: Sequence[Any],
        lowering: Any) -> Nest:
    """The nest of these statements.

    Args:
        statements: all loops over their whole ranges.
        partial: ``(accumulator, operator, its dtype, the result's, node)`` of full reductions.
        columns: ``(node, buffer, operator, root)`` of reductions that keep inner axes.
        lowering: gives scratch buffers and stores results.
    """
    if lowering.chunks or (not columns and _is_one_chain(statements)):
        statements = [merged(s) if isinstance(s, Loop) else s for s in statements]
    loops = [s for s in statements if isinstance(s, Loop)]
    fills, combined = [], []
    axis = loops[0].name if loops else None
    extent = max((loop.stop for loop in loops), default=1)
    if any(loop.name != axis for loop in loops) or not lowering.chunks:
        axis = None
    work = sum(map(cost, statements))
    chunk = chunk_size(work, extent, any(axis not in _names(root) for *_, root in columns),
                       max((shape_size(n.type.shape) for n, *_ in columns), default=0)) \
        if axis else extent
    n_chunks = -(-extent // chunk) if axis else 1
    finish: list[Statement] = []
    moves: dict[str, tuple[str, Index]] = {}
    for node, name, op, root in columns:
        fill, rest = _column(node, name, op, root, axis, n_chunks, moves, lowering)
        fills.append(fill)
        combined += rest
    if lowering.chunks:
        zeros = {name: lowering.identity_of(node) for node, name, *_ in columns}
        statements = skipped(statements, zeros, lowering.names)
    if moves:
        statements = [redirected(s, moves) for s in statements]
    ends: list[Statement] = []
    for name, op, wide, _, node in partial:
        if n_chunks == 1:
            ends += lowering.finish_number(node, name, wide)
            continue
        part = lowering.scratch("parts", wide, n_chunks)
        ends.append(Store(part, variable(CHUNK), Ref(name, wide)))
        total = lowering.names.unique("total")
        first = next(s for s in statements if isinstance(s, Start) and s.name == name)
        finish += [Start(total, wide, first.value),
                   Loop("c", 0, n_chunks, (Update(total, op, Load(part, variable("c"), wide)),)),
                   *lowering.finish_number(node, total, wide)]
    body = without_dead((*fills, *statements, *ends))
    return Nest(tuple(map(marked, body)), axis if n_chunks > 1 else None,
                extent if n_chunks > 1 else 1, chunk if n_chunks > 1 else 1,
                tuple(map(marked, (*combined, *finish))), work)


def _is_one_chain(statements: Sequence[Statement]) -> bool:
    """Whether there is one loop only, and in it at most one, and so on."""
    loops = [s for s in statements if isinstance(s, Loop)]
    return len(loops) < 2 and all(_is_one_chain(loop.body) for loop in loops)


def _names(root: Any) -> set[str]:
    return {n for i in root.outputs for n in i.names}


def _column(node: Any, name: str, op: Any, root: Any, axis: str | None, n_chunks: int,
            moves: dict[str, tuple[str, Index]], lowering: Any
            ) -> tuple[Statement, list[Statement]]:
    """What fills an array of sums first, and what combines the chunks' copies of it last.

    ``moves`` notes the copies of buffers that chunks have for themselves.
    """
    from_zero = lowering.identity_of(node)
    shape, dtype = node.type.shape, node.type.dtype
    if n_chunks == 1 or axis in _names(root):
        place = linear(tuple(root.outputs), shape)
        return _over_kept(root, Store(name, place, from_zero)), []
    size = shape_size(shape)
    parts = lowering.scratch("parts", dtype, size * n_chunks)
    at = variable(CHUNK).times(size)
    moves[name] = (parts, at)
    fill = Loop("c", 0, size, (Store(parts, at + variable("c"), from_zero),))
    first = Loop("c", 0, size, (Store(name, variable("c"), Load(parts, variable("c"), dtype)),))
    inner = Loop("c", 0, size, (Store(name, variable("c"), Load(
        parts, variable("copy").times(size) + variable("c"), dtype), op),))
    return fill, [first, Loop("copy", 1, n_chunks, (inner,))]


def _over_kept(root: Any, store: Statement) -> Statement:
    """Loops over the axes that a reduction keeps."""
    for i, n in reversed([(i, n) for i, n in zip(root.index, root.shape, strict=True)
                          if i in root.outputs and n != 1]):
        store = Loop(i.terms[0][0], 0, n, (store,))
    return store


def redirected(s: Statement, moves: dict[str, tuple[str, Index]]) -> Statement:
    """A statement that stores into the chunk's own copies of buffers."""
    if isinstance(s, Loop):
        return s._replace(body=tuple(redirected(b, moves) for b in s.body))
    if isinstance(s, Store) and s.buffer in moves:
        name, at = moves[s.buffer]
        return s._replace(buffer=name, index=s.index + at)
    return s


def chunk_size(work: int, extent: int, copies: bool, column: int) -> int:
    """Iterations of a chunk; a function of shapes alone, so that results do not vary."""
    most = MOST_CHUNKS
    if copies:
        most = min(MOST_COPIES, work // max(1, GRAIN * column))
    n = min(most, work // CHUNK_WORK, extent)
    if n < 2:
        return extent
    chunk = -(-extent // n)
    return -(-chunk // 16) * 16 if chunk >= 64 else chunk


def cost(s: Statement) -> int:
    """An estimate, in additions."""
    if isinstance(s, Loop):
        return (s.stop - s.start) * (1 + sum(map(cost, s.body)))
    if isinstance(s, Let):
        return own_cost(s.op)
    return 2 if isinstance(s, Store) else 1


def merged(loop: Loop) -> Loop:
    """Two loops as one where all indices run on from row to row."""
    body = tuple(merged(s) if isinstance(s, Loop) else s for s in loop.body)
    loop = loop._replace(body=body)
    if len(body) != 1 or not isinstance(body[0], Loop):
        return loop
    inner = body[0]
    n = inner.stop
    if inner.start or loop.start or any(
            isinstance(s, (Local, Loop)) for s in inner.body) or not all(
            _runs_on(i, loop.name, inner.name, n) for i in _indices(inner.body)):
        return loop
    gone = {loop.name: Index(), inner.name: variable(loop.name)}
    return Loop(loop.name, 0, loop.stop * n, tuple(_rename(s, gone) for s in inner.body))


def _runs_on(index: Index, outer: str, inner: str, n: int) -> bool:
    terms = dict(index.terms)
    return terms.get(outer, 0) == terms.get(inner, 0) * n


def _indices(body: Sequence[Statement]) -> list[Index]:
    out = []
    for s in walk(tuple(body)):
        if isinstance(s, Store):
            out.append(s.index)
        values = s.args if isinstance(s, Let) else \
            (s.value,) if isinstance(s, (Wrap, Update, Store)) else ()
        for v in values:
            if isinstance(v, (Load, Position)):
                out.append(v.index)
                if isinstance(v, Position):
                    out.append(Index((("?", 1),)))
    return out


def _rename(s: Statement, change: dict[str, Index]) -> Statement:
    def atom(a: Any) -> Any:
        return a._replace(index=renamed(a.index, change)) if isinstance(a, (Load, Position)) else a
    if isinstance(s, Let):
        return s._replace(args=tuple(map(atom, s.args)))
    if isinstance(s, Store):
        return s._replace(index=renamed(s.index, change), value=atom(s.value))
    if isinstance(s, (Wrap, Update)):
        return s._replace(value=atom(s.value))
    return s


def marked(s: Statement) -> Statement:
    """Loops whose iterations are independent are marked for SIMD."""
    if not isinstance(s, Loop):
        return s
    if any(isinstance(b, Loop) for b in s.body):
        return s._replace(body=tuple(map(marked, s.body)))
    simd = not any(isinstance(b, (Wrap, Local)) or (isinstance(b, Store) and
                   s.name not in b.index.names) for b in s.body)
    return s._replace(simd=simd)

