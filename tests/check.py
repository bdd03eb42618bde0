"""One checker for every row of the operator table: being in the table is being tested.

``check_op(row)`` draws operands from the row's domain (or takes its samples) and holds against
independent oracles: the type rule against NumPy, forward mode against differences, reverse mode
against forward mode, both again on the derivative graphs (second order), batching against a
loop, and the generated source against the reference evaluator.
"""

import contextlib
import itertools
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgWarning
from wengert.codegen.numpy_source import numpy_source
from wengert.compiler.arraytype import ArrayType, is_python_number, type_of
from wengert.compiler.errors import NotDifferentiableError, UnsupportedArgumentError, WengertError
from wengert.compiler.graph import PICK, Graph, infer
from wengert.compiler.interpret import interpret
from wengert.compiler.ops.row import (
    DerivativeNotImplemented,
    Elementwise,
    NoDerivative,
    Op,
    ZeroDerivative,
)
from wengert.compiler.passes.pipeline import SIMPLE, run
from wengert.compiler.trace.tracer import TraceBuilder
from wengert.compiler.transforms.batch import batch, batch_along
from wengert.compiler.transforms.derive import select_outputs
from wengert.compiler.transforms.jvp import jvp
from wengert.compiler.transforms.sparsity import sparsity
from wengert.compiler.transforms.vjp import vjp
from wengert.runtime.load_python import load

STEP = 1e-4          # of the five-point differences: truncation and rounding both near 1e-12
BATCH = 3
# Rows that refuse a second derivative by these operands.
ONCE = {"eigh_tied": 0, "eig_tied": 0, "svd_tied": 0, "ellipkinc": 1, "ellipeinc": 1}
CELLS = 400

SHAPES: dict[int, tuple[tuple[tuple[int, ...], ...], ...]] = {
    1: (((),), ((3,),), ((2, 3),), ((0,),)),
    2: (((), ()), ((3,), (3,)), ((2, 1), (3,)), ((3,), ()), ((), (2,)), ((1, 3), (2, 3)),
        ((0, 1), (1, 3))),
    3: (((), (), ()), ((3,), (3,), (3,)), ((2, 1), (3,), ()), ((1, 3), (2, 1), (2, 3)),
        ((0,), (1,), ())),
    4: (((), (), (), ()), ((2, 1), (3,), (), (3,))),
}


class Case(NamedTuple):
    """Operands and parameters of one application."""

    values: tuple[Any, ...]
    params: dict[str, Any]

    def __str__(self) -> str:
        operands = ", ".join(str(type_of(v)) for v in self.values)
        return f"({operands}) {self.params or ''}"


def draw(rng: np.random.Generator, interval: tuple[Any, Any], shape: tuple[int, ...]) -> Any:
    """Random operand: floats, integers or booleans, as the ends of the interval are."""
    low, high = interval
    if isinstance(low, bool):
        return np.asarray(rng.integers(0, 2, shape), bool)
    if isinstance(low, int):
        return np.asarray(rng.integers(low, high + 1, shape))
    # Distinct cells of a grid, and never near their borders: off ties and kinks.
    cells = rng.choice(CELLS, shape, replace=False) + rng.uniform(0.2, 0.8)
    return np.asarray(low + (high - low) * cells / CELLS)


def is_elementwise(op: Op) -> bool:
    """Whether the row broadcasts its operands and has no parameters of its own."""
    return op.batch is None


def decreed(op: Op) -> bool:
    """Whether the row's derivative is a matter of definition, which differences cannot know."""
    return isinstance(op.derivative, ZeroDerivative) and op.derivative.by_decree


def base_cases(op: Op, rng: np.random.Generator) -> Iterator[Case]:
    """Double precision operands of every shape that matters."""
    if op.samples:
        for one in op.samples:
            domain = op.domain if len(op.domain) == len(one.args) else op.domain * len(one.args)
            values = tuple(draw(rng, d, a) if isinstance(a, tuple) else np.asarray(a)
                           for a, d in zip(one.args, domain, strict=False))
            yield Case(values, dict(one.params))
        return
    for shapes in SHAPES[len(op.domain)]:
        yield Case(tuple(map(draw, itertools.repeat(rng), op.domain, shapes)), {})


def _is_float(value: Any) -> bool:
    return np.asarray(value).dtype == np.float64


def _cast(case: Case, dtype: Any, positions: Sequence[int]) -> Case:
    return Case(tuple(v.astype(dtype) if i in positions else v
                      for i, v in enumerate(case.values)), case.params)


def narrow_cases(case: Case) -> Iterator[Case]:
    """Single precision; Python numbers beside it, and alone."""
    floats = [i for i, v in enumerate(case.values) if _is_float(v)]
    single = _cast(case, np.float32, floats)
    yield single
    scalars = [i for i in floats if case.values[i].ndim == 0]
    for i in scalars:
        yield Case((*single.values[:i], float(case.values[i]), *single.values[i + 1:]),
                   case.params)
    if len(scalars) == len(case.values):
        yield Case(tuple(map(float, case.values)), case.params)


def whole_cases(case: Case) -> Iterator[Case]:
    """Integers and booleans in place of floats."""
    floats = [i for i, v in enumerate(case.values) if _is_float(v)]
    for dtype in (np.int64, np.int32, bool):
        yield Case(tuple(np.asarray(np.abs(np.rint(v)) + 1).astype(dtype) if i in floats else v
                         for i, v in enumerate(case.values)), case.params)


def complex_cases(case: Case, rng: np.random.Generator) -> Iterator[Case]:
    """All floats complex; then only the first, and only the last."""
    floats = [i for i, v in enumerate(case.values) if _is_float(v)]
    for chosen in dict.fromkeys((tuple(floats), tuple(floats[:1]), tuple(floats[-1:]))):
        if chosen:
            yield Case(tuple(v + 1j * rng.uniform(-0.5, 0.5, v.shape) if i in chosen else v
                             for i, v in enumerate(case.values)), case.params)


# -- graphs -----------------------------------------------------------------------------------


def graph_of(op: Op, case: Case) -> Graph:
    """The graph of one application; several results become several outputs."""
    builder = TraceBuilder(op.name)
    inputs = tuple(builder.input(type_of(v), f"x{i}") for i, v in enumerate(case.values))
    node = builder.emit(op, inputs, tuple(case.params[name] for name in op.params))
    outputs = [node] if isinstance(node.type, ArrayType) else [
        builder.emit(PICK, (node,), (i,)) for i in range(len(node.type))]
    builder.closed = True
    return builder.graph(outputs)


def differentiable(graph: Graph) -> list[int]:
    """Positions of the inputs that have tangents."""
    fixed = {n.args[i] for n in graph.nodes for i in n.op.fixed}
    return [i for i, node in enumerate(graph.inputs)
            if node.type.differentiable and node not in fixed]


def random_like(rng: np.random.Generator, type: ArrayType) -> Any:
    """A different random weight for each element."""
    value = rng.uniform(0.5, 1.5, type.shape) * rng.choice([-1.0, 1.0], type.shape)
    if type.dtype.kind == "c":
        value = value + 1j * rng.uniform(-1.0, 1.0, type.shape)
    return np.asarray(value).astype(type.dtype if type.differentiable else float)[()]


def is_single(graph: Graph) -> bool:
    """Whether a graph computes anything in single precision (or less)."""
    dtypes = [t.dtype for n in graph.nodes for t in _parts(n.type)]
    return any(d.kind in "fc" and d.itemsize // (1 + (d.kind == "c")) <= 4 for d in dtypes)


def _parts(type: Any) -> tuple[ArrayType, ...]:
    return (type,) if isinstance(type, ArrayType) else type


def same(found: Any, wanted: Any, message: str, rtol: float) -> None:
    """Equal shape and dtype, and values within a tolerance."""
    a, b = np.asarray(found), np.asarray(wanted)
    assert a.shape == b.shape, f"{message}: shape {a.shape}, expected {b.shape}"
    assert a.dtype == b.dtype, f"{message}: dtype {a.dtype}, expected {b.dtype}"
    if a.dtype.kind in "fc":
        scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
        np.testing.assert_allclose(a, b, rtol, rtol * max(scale, 1.0), err_msg=message)
    else:
        np.testing.assert_array_equal(a, b, err_msg=message)


def differences(graph: Graph, values: Sequence[Any], wrt: Sequence[int], tangents: Sequence[Any]
                ) -> list[Any]:
    """Directional derivative of all outputs by five-point central differences."""
    direction = dict(zip(wrt, tangents, strict=True))

    def shifted(h: float) -> list[Any]:
        return interpret(graph, *[v + h * direction[i] if i in direction else v
                                  for i, v in enumerate(values)])
    near = zip(shifted(STEP), shifted(-STEP), strict=True)
    far = zip(shifted(2 * STEP), shifted(-2 * STEP), strict=True)
    return [(8.0 * (np.asarray(a, d.dtype) - b) - (np.asarray(e, d.dtype) - f)) / (12.0 * STEP)
            for d, (a, b), (e, f) in zip(_differentiable_dtypes(graph), near, far, strict=True)]


def _differentiable_dtypes(graph: Graph) -> list[Any]:
    return [n.type if n.type.differentiable else n.type._replace(dtype=np.dtype(float))
            for n in graph.outputs]


def check_derivatives(graph: Graph, values: Sequence[Any], wrt: Sequence[int],
                      rng: np.random.Generator, message: str, order: int = 2) -> None:
    """Forward mode against differences, reverse against forward; then both once more."""
    n_out, single = len(graph.outputs), is_single(graph)
    forward, backward = jvp(graph, wrt), vjp(graph, wrt)
    tangents = [random_like(rng, graph.inputs[i].type) for i in wrt]
    pushed = interpret(forward, *values, *tangents)[n_out:]
    expected = differences(graph, values, wrt, tangents)
    for t, d, node in zip(pushed, expected, graph.outputs, strict=True):
        if node.type.differentiable:
            same(t, d, f"{message}, jvp of order {3 - order} against differences",
                 1e-2 if single else 1e-7)
    cts = [random_like(rng, node.type) for node in graph.outputs]
    pulled = interpret(backward, *values, *cts)[n_out:]
    for ct, i in zip(pulled, wrt, strict=True):
        wanted = graph.inputs[i].type
        assert np.shape(ct) == wanted.shape, f"{message}: cotangent has shape {np.shape(ct)}"
        assert np.asarray(ct).dtype == wanted.dtype, f"{message}: cotangent of {wanted}"
    left = [np.sum(ct * t) for ct, t, n in zip(cts, pushed, graph.outputs, strict=True)
            if n.type.differentiable]
    right = [np.sum(ct * t) for ct, t in zip(pulled, tangents, strict=True)]
    # Cotangents are never conjugated: the pairing is the real part of the plain product.
    same(np.float64(np.real(sum(right, 0.0))), np.float64(np.real(sum(left, 0.0))),
         f"{message}, <vjp(ct), t>", 1e-4 if single else 1e-10)
    check_source(forward, [*values, *tangents], f"{message}, source of the jvp")
    check_source(backward, [*values, *cts], f"{message}, source of the vjp")
    if order > 1:
        for derived, operands in ((forward, tangents), (backward, cts)):
            added = [i for i in differentiable(derived) if i >= len(values)]
            last = graph.nodes[-1]
            once = ONCE.get((last.args[0] if last.op is PICK else last).op.name)
            if once in wrt:
                _check_refusal(derived, (once,), message)
                continue
            check_derivatives(derived, [*values, *operands], [*wrt, *added], rng, message,
                              order - 1)


def check_source(graph: Graph, values: Sequence[Any], message: str) -> None:
    """The printed and loaded program against the reference evaluator."""
    function = load(numpy_source(run(graph)))
    with np.errstate(all="ignore"):
        found = function(*values)
    found = found if isinstance(found, tuple) else (found,)
    wanted = interpret(graph, *values)
    for a, b in zip(found, wanted, strict=True):
        same(a, b, message, 2e-5 if is_single(graph) else 1e-11)


# -- the checks of one row ----------------------------------------------------------------------


def accepts(op: Op, case: Case) -> bool:
    """Whether NumPy itself takes operands of these dtypes."""
    try:
        with np.errstate(all="ignore"):
            op.call(*case.values, **case.params)
    except (TypeError, ValueError, NotImplementedError, LinAlgWarning, UserWarning,
            np.exceptions.ComplexWarning):
        return False
    return True


def check_type(op: Op, case: Case) -> None:
    """The type rule gives exactly the shape and dtype of NumPy's result."""
    types = tuple(type_of(v) for v in case.values)
    found = infer(op, types, tuple(case.params[name] for name in op.params))
    with np.errstate(all="ignore"):
        wanted = op.call(*case.values, **case.params)
    values = wanted if isinstance(wanted, tuple) else (wanted,)
    for type, value in zip(_parts(found), values, strict=True):
        value = np.asarray(value)
        assert type.shape == value.shape, f"{op} {case}: type {type}, shape {value.shape}"
        assert type.dtype == value.dtype, f"{op} {case}: type {type}, dtype {value.dtype}"


def check_batching(op: Op, case: Case, rng: np.random.Generator) -> None:
    """Every choice of batched operands against a loop over the batch."""
    graph = graph_of(op, case)
    many = [np.stack([_another(v, rng) for _ in range(BATCH)]) for v in case.values]
    for flags in itertools.product((False, True), repeat=len(case.values)):
        if not any(flags):
            continue
        values = [m if b else v for m, v, b in zip(many, case.values, flags, strict=True)]
        try:
            batched, has_axis = batch(graph, BATCH, flags)
        except UnsupportedArgumentError:
            refused = [v.dtype == bool or i in op.fixed
                       for i, (v, b) in enumerate(zip(case.values, flags, strict=True)) if b]
            assert any(refused), f"{op} {case}: no batching of operands {flags}"
            continue
        found = interpret(batched, *values)
        rows = [interpret(graph, *[m[k] if b else v for m, v, b in
                                   zip(many, case.values, flags, strict=True)])
                for k in range(BATCH)]
        for out, one, is_batched in zip(found, zip(*rows, strict=True), has_axis, strict=True):
            assert is_batched, f"{op} {case}: the batch axis is lost for operands {flags}"
            same(out, np.stack(one), f"{op} {case}, batched {flags}", 1e-12)
        in_axes = [int(rng.integers(v.ndim)) if b else None
                   for v, b in zip(values, flags, strict=True)]
        out_axes = [int(rng.integers(node.type.ndim + 1)) for node in graph.outputs]
        along = batch_along(graph, BATCH, in_axes, out_axes)
        moved = [np.moveaxis(v, 0, axis) if b else v
                 for v, b, axis in zip(values, flags, in_axes, strict=True)]
        for out, one, axis in zip(interpret(along, *moved), found, out_axes, strict=True):
            same(out, np.moveaxis(one, 0, axis), f"{op} {case}, along {in_axes}", 1e-12)


def _another(value: Any, rng: np.random.Generator) -> Any:
    """Another operand that is as valid as this one.

    Indices in another order; of square matrices rows and columns alike in another order, so that
    definite ones stay definite; all else made smaller, so that what is sorted stays sorted.
    """
    if value.ndim > 1 and value.shape[-1] == value.shape[-2]:
        order = rng.permutation(value.shape[-1])
        return value[..., order[:, None], order]
    if value.dtype.kind in "iub":
        return rng.permutation(value.ravel()).reshape(value.shape)
    return value * rng.uniform(0.7, 1.0)


def check_narrow(graph: Graph, message: str) -> None:
    """Single precision stays single precision, at every node."""
    for node in graph.nodes:
        for type in _parts(node.type):
            if not type.weak and type.dtype.kind in "fc" and node.op.name != "constant":
                assert type.dtype in (np.float32, np.complex64), \
                    f"{message}: {node.op} computes in {type.dtype}"


def known_partials(op: Op, graph: Graph) -> list[int]:
    """Positions of the inputs that the row can be differentiated with respect to."""
    partials = op.derivative.partials if isinstance(op.derivative, Elementwise) else ()
    unknown = {i for i, p in enumerate(partials) if isinstance(p, DerivativeNotImplemented)}
    unknown |= set(op.fixed)
    return [i for i in differentiable(graph) if i not in unknown]


def check_sparsity(graph: Graph, values: Sequence[Any], wrt: Sequence[int], message: str) -> None:
    """No entry of the dense Jacobian differs from zero outside of the pattern."""
    n_out, n = len(graph.outputs), len(graph.inputs)
    pushed = jvp(graph, wrt)
    tangents = range(n, len(pushed.inputs))
    for simplified in (pushed, run(pushed, SIMPLE)):
        patterns = sparsity(simplified, tangents).outputs[n_out:]
        column = 0
        for i in wrt:
            type = graph.inputs[i].type
            for unit in np.eye(type.size, dtype=type.dtype).reshape(type.size, *type.shape):
                seeds = [unit if j == i else np.zeros(graph.inputs[j].type.shape,
                                                      graph.inputs[j].type.dtype) for j in wrt]
                with np.errstate(all="ignore"):
                    found = interpret(pushed, *values, *seeds)[n_out:]
                for t, pattern in zip(found, patterns, strict=True):
                    missed = (np.ravel(t) != 0) & ~pattern.dense()[:, column]
                    assert not np.any(missed), f"{message}: column {column} has entries " \
                        f"{np.flatnonzero(missed)} outside of the pattern"
                column += 1


def subsets(positions: list[int]) -> list[tuple[int, ...]]:
    """All positions together, and each alone."""
    return list(dict.fromkeys([tuple(positions), *[(i,) for i in positions]])) if positions else []


def check_op(op: Op) -> None:
    """All checks of one row; raises AssertionError at the first that fails."""
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    refused = isinstance(op.derivative, (NoDerivative, DerivativeNotImplemented))
    unchecked = refused or decreed(op)
    for i, case in enumerate(base_cases(op, rng)):
        order = 2 if i < 2 else 1                       # more shapes need no more orders
        message = f"{op} {case}"
        check_type(op, case)
        graph = graph_of(op, case)
        check_source(graph, case.values, message)
        check_batching(op, case, rng)
        known = [] if refused else known_partials(op, graph)
        for wrt in [] if decreed(op) else subsets(known):
            check_derivatives(graph, case.values, wrt, rng, message, order)
            check_sparsity(graph, case.values, wrt, message)
        for unknown, node in enumerate(graph.inputs):
            if node.type.differentiable and unknown not in known:
                _check_refusal(graph, (unknown,), message)
        for other in narrow_cases(case):
            _check_narrow_case(op, other, unchecked)
        for other in whole_cases(case):
            if accepts(op, other):
                check_type(op, other)
                check_source(graph_of(op, other), other.values, f"{op} {other}")
        for other in complex_cases(case, rng):
            if accepts(op, other):
                _check_complex_case(op, other, unchecked, rng, order)


def _check_narrow_case(op: Op, case: Case, refused: bool) -> None:
    check_type(op, case)
    graph = graph_of(op, case)
    message = f"{op} {case}"
    check_source(graph, case.values, message)
    if refused or all(is_python_number(v) for v in case.values) or graph.outputs[0].type.dtype \
            != np.float32:
        return
    wrt = [i for i in known_partials(op, graph) if not graph.inputs[i].type.weak]
    graph = select_outputs(graph, [i for i, n in enumerate(graph.outputs)
                                   if n.type.differentiable])
    for derived in (jvp(graph, wrt), vjp(graph, wrt)):
        check_narrow(derived, message)
        check_narrow(run(derived), f"{message}, simplified")


def _check_complex_case(op: Op, case: Case, refused: bool, rng: np.random.Generator, order: int
                        ) -> None:
    check_type(op, case)
    graph = graph_of(op, case)
    message = f"{op} {case}"
    check_source(graph, case.values, message)
    if not refused and not decreed(op):
        # Refusing is right, a wrong number is not.
        with contextlib.suppress(NotDifferentiableError):
            check_derivatives(graph, case.values, known_partials(op, graph), rng, message,
                              order)


def _check_refusal(graph: Graph, wrt: Sequence[int], message: str) -> None:
    if not any(n.type.differentiable for n in graph.outputs):
        return
    for transform in (jvp, vjp):
        try:
            transform(graph, wrt)
        except WengertError:
            continue
        raise AssertionError(f"{message}: {transform.__name__} does not refuse")
