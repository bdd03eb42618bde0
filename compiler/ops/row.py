"""What an operator row holds.

A row is the only place that knows an operation: its NumPy meaning, its type rule, its one
derivative slot, its batching, its spelling in Python source, and how to sample it in tests.
Rows are callable: on arrays they compute, on traced values they record a node. Derivative
and batching rules are therefore plain functions that can be called in a test.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ..arraytype import ArrayType, python_number
from ..errors import ShapeError

Rule = Callable[..., Any]


@dataclass(frozen=True)
class DerivativeNotImplemented:
    """A derivative exists but is not implemented; the reason is part of the error."""

    reason: str


Partial = Rule | float | DerivativeNotImplemented | None


@dataclass(frozen=True)
class Elementwise:
    """One partial derivative an operand, as a function ``(*operands, out)``.

    A number is a constant partial; None says that the derivative is zero almost everywhere, and
    ``DerivativeNotImplemented`` that only this operand cannot be differentiated with respect to.
    """

    partials: tuple[Partial, ...]


@dataclass(frozen=True)
class Linear:
    """Jointly linear in ``operands``: ``transpose(ct, *args, **params)`` gives their cotangents.

    ``operands=None`` means all of them; the rule then returns a tuple. With a single linear
    operand it returns that cotangent alone.
    """

    transpose: Rule
    operands: tuple[int, ...] | None = (0,)


@dataclass(frozen=True)
class Multilinear:
    """Linear in each operand on its own; one transpose ``(ct, *args, **params)`` an operand."""

    transposes: tuple[Rule | None, ...]


@dataclass(frozen=True)
class General:
    """``jvp(args, tangents, out, **params)`` in terms of other operators.

    A tangent is None where it is zero; the rule may return None for a zero tangent. An operator
    whose jvp applies the operator itself to a tangent (``solve`` is linear in its right-hand
    side) gives the transposes ``(ct, *args, **params)`` of those operands, by position.
    """

    jvp: Rule
    transposes: Mapping[int, Rule] = field(default_factory=dict)


@dataclass(frozen=True)
class Pullback:
    """Given by its reverse rule, ``pull(args, out, ct)``, the cotangents of the operands.

    ``push(args, tangents, out)`` is its transpose, for forward mode; like a General jvp.
    """

    pull: Rule
    push: Rule


@dataclass(frozen=True)
class Structured:
    """An operator with graphs among its parameters: its rules transform these bodies.

    ``how`` holds the transforms of graphs (see ``transforms/bodies.py``), which lie above the rows.

    * ``push(how, args, tangents, **params)`` gives the results and their tangents, from one node.
    * ``pull(how, args, cts, wanted, **params)`` gives the cotangents of the wanted operands; those
      of the results and of the operands are None where they are zero.
    * ``batch(how, args, batched, size, **params)`` gives the results, all of them batched.
    """

    push: Rule
    pull: Rule
    batch: Rule


@dataclass(frozen=True)
class ZeroDerivative:
    """The derivative exists almost everywhere and is zero (rounding, comparison, sign).

    ``by_decree`` it is taken as zero although the function is not constant anywhere.
    """

    by_decree: bool = False


@dataclass(frozen=True)
class NoDerivative:
    """There is no derivative; the reason is part of the error."""

    reason: str


Derivative = (Elementwise | Linear | Multilinear | General | Pullback | Structured
              | ZeroDerivative | NoDerivative | DerivativeNotImplemented)


@dataclass(frozen=True)
class Infix:
    """Spelled with an operator; ``power`` binds to the right, all others to the left."""

    symbol: str
    precedence: float


@dataclass(frozen=True)
class Sample:
    """Operands (a shape to draw from the domain, or a value) and parameters for ``check_op``."""

    args: tuple[Any, ...]
    params: tuple[tuple[str, Any], ...] = ()


def sample(*args: Any, **params: Any) -> Sample:
    """One line of a row's ``samples``."""
    return Sample(args, tuple(params.items()))


@dataclass(frozen=True, eq=False)
class Op:
    """One operator of the table.

    Attributes:
        name: unique; the name in the text form of a graph.
        call: the NumPy meaning, ``call(*arrays, **params)``.
        type_rule: ``type_rule(*types, **params)``, an ArrayType (a tuple of them if several).
        derivative: the one derivative slot.
        params: names of the static parameters, in the order nodes store them.
        batch: ``batch(args, batched, **params)`` with leading batch axes, or None: elementwise.
        python: callee (``np.sin``), or a function ``(operand texts, params, types) -> text``.
        infix: operator syntax instead of a call.
        factor: operands of a part of the work that several applications may share, such as a
            factorization, and ``(operand texts, params, types) -> text`` of it; ``python`` is then
            given the part in their place, as first operand.
        domain: interval an operand, from which tests draw; integers or booleans where its
            ends are such.
        samples: operands and parameters for tests of operators that are not elementwise.
        commutative: whether two operands may be exchanged.
        fresh: whether the result never shares memory with an operand.
        fixed: operands that have no tangents and no batches here, such as a spline's knots; the
            rules refuse them.
        expand: the operator in terms of others, ``expand(*args, **params)``; it is put in its
            place once derivatives have been taken.
        reference: a callable of the user's that generated code calls under the row's name.
        results: names of the results, of an operator with several.
        flow: how the result's elements depend on those of an operand, see ``flow``; None: element
            by element without a batching rule, else everything on everything.
        copies: whether elements of the result are sums of elements of the operands, those that
            the flow names, if it does not collect elements before it gathers them.
        bodies: names of the parameters that hold graphs (or None).
        c: the same on one element in C and CUDA, or None: a template in which ``{0}``, ``{1}``
            are operands of one type, ``{f}`` is the suffix of functions of that type (``f`` for
            single precision) and ``{t}`` its name; ``"infix"`` for the operator of ``infix``; or
            a function ``(kind, constants)`` of the operands' dtype kind and constant values that
            gives such a template. Integers are taken by templates without ``{f}`` and ``/``.
        work: arithmetic operations, in additions: a number an element, or
            ``work(*types, **params)`` in all; None: by kind, see ``compiler/cost.py``.
        workspace: ``workspace(*types, **params)``, the bytes needed beside operands and results
            while it is computed; None: none.
    """

    name: str
    call: Callable[..., Any]
    type_rule: Callable[..., Any]
    derivative: Derivative
    params: tuple[str, ...] = ()
    batch: Rule | None = None
    python: str | Callable[..., str] = ""
    infix: Infix | None = None
    factor: tuple[tuple[int, ...], Callable[..., str]] | None = None
    domain: tuple[tuple[float, float], ...] = ((-2.0, 2.0),)
    samples: tuple[Sample, ...] = ()
    commutative: bool = False
    fresh: bool = True
    fixed: tuple[int, ...] = ()
    expand: Rule | None = None
    reference: Callable[..., Any] | None = None
    results: tuple[str, ...] = ()
    flow: Rule | None = None
    copies: bool = False
    bodies: tuple[str, ...] = ()
    c: str | Callable[..., str | None] | None = None
    work: float | Rule | None = None
    workspace: Rule | None = None

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Compute on arrays; record a node when an operand is traced."""
        for arg in args:
            record = getattr(type(arg), "_record_", None)
            if record is not None:
                return record(self, args, tuple(params[name] for name in self.params))
        return self.call(*args, **params)

    def __repr__(self) -> str:
        return self.name


def cubic(*types: ArrayType, **params: Any) -> float:
    """Work of a factorization: some operations for each element and row of a matrix."""
    return 2.0 * types[0].size * (types[0].shape[-1] if types[0].shape else 1)


@cache
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy's broadcasting rule on shapes."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"Shapes {' and '.join(map(str, shapes))} do not broadcast.") from None


@cache
def _result_dtype(call: Callable[..., Any], operands: tuple[tuple[np.dtype[Any], bool], ...]
                  ) -> np.dtype[Any]:
    """Dtype NumPy gives: asked of NumPy itself, with one-element arrays."""
    values = [python_number(1, dtype) if weak else np.ones(1, dtype) for dtype, weak in operands]
    with np.errstate(all="ignore"):
        return np.asarray(call(*values)).dtype


def elementwise_type(call: Callable[..., Any], python_operator: bool = False
                     ) -> Callable[..., ArrayType]:
    """Type rule of a broadcasting function.

    With ``python_operator`` a result of plain Python numbers is a plain Python number.
    """
    def type_rule(*types: ArrayType) -> ArrayType:
        dtype = _result_dtype(call, tuple((t.dtype, t.weak) for t in types))
        if all(t.weak for t in types):
            return ArrayType((), dtype, weak=python_operator)
        return ArrayType(broadcast_shapes(*[t.shape for t in types]), dtype)
    return type_rule


def elementwise(name: str, call: Callable[..., Any], *partials: Partial, **fields: Any) -> Op:
    """Row of a differentiable broadcasting function of as many operands as partials."""
    infix = fields.get("infix")
    domain = fields.pop("domain", ((-2.0, 2.0),) * len(partials))
    return Op(name, call, elementwise_type(call, python_operator=infix is not None),
              Elementwise(partials), domain=domain, python=fields.pop("python", f"np.{name}"),
              **fields)


def piecewise_constant(name: str, call: Callable[..., Any], n_operands: int = 1,
                       **fields: Any) -> Op:
    """Row of a broadcasting function whose derivative is zero almost everywhere."""
    infix = fields.get("infix")
    domain = fields.pop("domain", ((-2.0, 2.0),) * n_operands)
    return Op(name, call, elementwise_type(call, python_operator=infix is not None),
              ZeroDerivative(), domain=domain, python=fields.pop("python", f"np.{name}"),
              **fields)


def shift_axes(axis: Any) -> Any:
    """The same axes after a batch axis has been put in front (axes are non-negative)."""
    if axis is None:
        return None
    if isinstance(axis, tuple):
        return tuple(a + 1 for a in axis)
    return axis + 1


def batch_by_axis(op_call: Callable[[], Op], name: str = "axis") -> Rule:
    """Batching rule of a one-operand operator whose only axes are in the parameter ``name``."""
    def batch(args: tuple[Any, ...], batched: tuple[bool, ...], **params: Any) -> Any:
        params[name] = shift_axes(params[name])
        return op_call()(*args, **params)
    return batch
