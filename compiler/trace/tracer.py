"""The traced value: it answers NumPy's protocols and records nodes instead of computing.

A tracer behaves as the ndarray (or Python number) it stands for. Assignment into it changes
which node it stands for; a view remembers its base and how to read from and write to it.
"""

import numbers
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from ..arraytype import ArrayType, is_python_number
from ..errors import (
    ConversionError,
    LeakedTracerError,
    UnsupportedArgumentError,
    UnsupportedFunctionError,
    WengertError,
)
from ..graph import PICK, Node
from ..ops import arithmetic, comparison
from ..ops.row import Op
from ..ops.table import BY_FUNCTION
from . import mutation, python_errors
from .builder import TraceBuilder as TraceBuilder
from .builder import contains_tracer as contains_tracer
from .builder import deepest as deepest
from .builder import inmost as inmost
from .builder import is_traced as is_traced
from .builder import stack_objects as stack_objects
from .conversions import is_assignment, is_formatting
from .locate import in_try, locate, unpacked_names
from .registry import FUNCTIONS, METHODS, unsupported


def record(op: Op, args: Sequence[Any], params: tuple[Any, ...]) -> Any:
    """Append a node for ``op`` to the innermost trace among the operands."""
    builder = deepest(args)
    assert builder is not None
    lift = builder.lift
    node = builder.emit(op, tuple([lift(a) for a in args]), params)
    return wrap(builder, node)


def wrap(builder: TraceBuilder, node: Node) -> Any:
    """A tracer for a node, or a tuple of them for an operator with several results."""
    if builder.closed:
        raise LeakedTracerError(
            "A traced value is used after its function has returned.",
            "Return it from the function instead of storing it elsewhere.", locate())
    if type(node.type) is ArrayType:
        return Tracer(builder, node)
    return tuple(Tracer(builder, builder.emit(PICK, (node,), (i,)))
                 for i in range(len(node.type)))


def enter(function: Any, builder: TraceBuilder, args: Sequence[Any], kwargs: dict[str, Any],
          frame: Any) -> Any:
    """Call one of our functions on behalf of the user's line, and name its result after it."""
    builder = inmost(builder)
    if builder.origin is not None or not builder.locates:     # already inside such a call
        return function(*args, **kwargs)
    origin = locate(frame)
    if origin is None:
        return function(*args, **kwargs)
    n_before = len(builder.nodes)
    builder.origin = origin.unnamed
    try:
        out = function(*args, **kwargs)
    except WengertError as error:
        error.where = error.where or origin
        raise
    finally:
        builder.origin = None
    if origin.name and isinstance(out, Tracer) and len(builder.nodes) > n_before:
        out.node.origin = origin
    elif isinstance(out, tuple) and origin.file == frame.f_code.co_filename:
        for part, name in zip(out, unpacked_names(frame), strict=False):
            if isinstance(part, Tracer) and part.node.args:
                part.node.origin = origin._replace(name=name)
    return out


class Tracer:
    """A value of the traced function; see the module's text.

    ``boxed`` marks 0-d arrays, which, unlike scalars, can be assigned into; ``packed`` arrays that
    certainly lie in memory row by row; ``made`` is the node the array was made as.
    """

    __slots__ = ("_base", "_node", "_seen", "_view", "boxed", "builder", "made", "packed")
    __array_priority__ = 1000

    def __hash__(self) -> int:
        if self.shape or self.boxed:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        if self.builder.is_constant(self.node):
            return hash(self.builder.concrete(self.node))
        raise ConversionError(
            "A traced value is a key of a dictionary or set, or an argument of a cached function; "
            "its value differs from call to call.", "Call the function without its cache (its "
            "__wrapped__), or use the value's position as the key.", locate(sys._getframe(1)))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What ``isinstance`` in user code sees: the type the plain function would see."""
        if self.shape or self.boxed:
            return np.ndarray
        return _PYTHON_TYPES[self.dtype.kind] if self.type.weak else self.dtype.type

    def __init__(self, builder: TraceBuilder, node: Node, boxed: bool = False,
                 packed: bool = False) -> None:
        self.builder = builder
        self._node = self.made = node
        self._base: Tracer | None = None
        self._view: Any = None               # a mutation.View, if there is a base
        self._seen: Node | None = None
        self.boxed = boxed
        self.packed = packed

    _record_ = staticmethod(record)

    @property
    def node(self) -> Node:
        """The node this value stands for now; a view follows its base."""
        if self._base is not None:
            base = self._base.node
            if base is not self._seen:
                if self._view.is_view is not None:
                    mutation.settle(self)
                    return self.node
                self._node = mutation.read_view(self._view, self.builder, base)
                self._seen = base
        return self._node

    # -- type ---------------------------------------------------------------------------

    @property
    def type(self) -> ArrayType:
        """Shape and dtype."""
        return self._node.type  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, known while tracing."""
        return self._node.type.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype, known while tracing."""
        return self._node.type.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._node.type.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._node.type.size  # type: ignore[no-any-return]

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return self.size * self.itemsize

    def __copy__(self) -> Any:
        return METHODS["copy"](self) if self.shape or self.boxed else self

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self._conversion("bytes (by pickle)", "Return it from the function instead.")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<traced {self.type}>"

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        return format(self.builder.concrete(self.node), spec)

    # -- protocols ----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        builder = deepest([*args, *_as_tuple(kwargs.get("out"))])
        if builder is None:
            raise ConversionError("A traced value is used only as a mask of a ufunc.",
                                  "Use np.where instead.", locate(frame))
        if method == "__call__" and not kwargs:
            op = BY_FUNCTION.get(ufunc)
            if op is not None:
                return enter(_call_ufunc, builder, (op, args), {}, frame)
        return enter(mutation.ufunc_method, builder, (ufunc, method, args, kwargs), {}, frame)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        frame = sys._getframe(1)
        builder = deepest([*args, *kwargs.values()])
        function = FUNCTIONS.get(func)
        if function is None and builder is not None:
            return compute_constant(builder, func, args, kwargs, frame)
        if function is None or builder is None:
            raise unsupported(func, locate(frame))
        return enter(function, builder, args, kwargs, frame)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """For code that NumPy's protocols do not reach, such as ``A.dot(x)`` of a plain array.

        An object array of the elements carries the derivative through such code one element at a
        time; code that insists on plain numbers then fails in ``__float__``, with its reason.
        Integers and truth values, such as the index in ``plain_table[words]``, have no derivative
        to lose; that they are what they are becomes a decision.
        """
        node = self.node
        if self.builder.is_constant(node):
            return np.array(self.builder.concrete(node), dtype)
        if self.dtype.kind in "iub" and dtype is not object and self.builder.locates:
            value = np.array(self.builder.concrete(node))
            same = FUNCTIONS[np.all](self == value)
            same.builder.decide(same.node)
            return value if dtype is None else value.astype(dtype)
        if dtype is not None and np.dtype(dtype) != object:
            raise self._conversion("a plain array", "Use NumPy functions on the value itself.")
        if self.size > ELEMENT_LIMIT:
            raise self._conversion(
                f"an array of {self.size} separate elements", "Use NumPy functions on the value "
                "itself: A @ x or np.dot(A, x) instead of A.dot(x), for example.")
        elements = np.empty(self.shape, dtype=object)
        for index in np.ndindex(self.shape):
            elements[index] = self[index] if index else Tracer(self.builder, node)
        return elements

    def _conversion(self, what: str, instead: str) -> ConversionError:
        frame = sys._getframe(2)
        if is_assignment(frame):
            return ConversionError(
                "A traced value is assigned into a plain array here; its derivative would be "
                "lost.", "Make the array anew inside the function, with np.array(a), say, instead "
                "of a.copy().", locate(frame))
        return ConversionError(
            f"A traced value is converted to {what} here; its derivative would be lost.", instead,
            locate(frame))

    def __getattr__(self, name: str) -> Any:
        method = METHODS.get(name)
        if method is None:
            if not name.startswith("__") and (hasattr(
                    np.ndarray, name) or (not self.shape and hasattr(float, name))):
                raise UnsupportedFunctionError(
                    f"The array attribute or method {name!r} is not supported on traced values.",
                    "Use the NumPy function of that meaning.", locate(sys._getframe(1)))
            raise AttributeError(f"A traced array has no attribute {name!r}.")

        def bound(*args: Any, **kwargs: Any) -> Any:
            builder = deepest([self, *args, *kwargs.values()])
            assert builder is not None
            return enter(method, builder, (self, *args), kwargs, sys._getframe(1))
        return bound

    # -- properties that are computed ----------------------------------------------------

    @property
    def T(self) -> Any:
        """Transpose."""
        return FUNCTIONS[np.transpose](self)

    @property
    def mT(self) -> Any:
        """Transpose of the last two axes."""
        return FUNCTIONS[np.swapaxes](self, -1, -2)

    @property
    def real(self) -> Any:
        """Real part."""
        return FUNCTIONS[np.real](self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """Imaginary part."""
        return FUNCTIONS[np.imag](self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def flat(self) -> Any:
        """The elements in one row, whatever the layout; assignments reach this array."""
        return FlatIterator(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        row = FlatIterator(self).row
        value = FUNCTIONS[np.ravel](FUNCTIONS[np.asarray](value)) if contains_tracer(value) \
            else np.ravel(value)
        row[...] = value[np.arange(self.size) % len(value)]

    # -- indexing and iteration -----------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return enter(mutation.getitem, self.builder, (self, index), {}, sys._getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        enter(mutation.setitem, self.builder, (self, index, value), {}, sys._getframe(1))

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        frame = sys._getframe(1)
        items = [enter(mutation.getitem, self.builder, (self, i), {}, frame)
                 for i in range(self.shape[0])]
        for item, name in zip(items, unpacked_names(frame), strict=False):
            node = item.node
            if node.origin is not None and node.args:
                node.origin = node.origin._replace(name=name)
        return iter(items)

    # -- decisions --------------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is "
                             "ambiguous. Use a.any() or a.all()")
        if self.dtype == bool:
            return bool(self.builder.decide(self.node))
        truth = mutation.reshape_scalar(cast(Any, self) != 0)
        return bool(truth.builder.decide(truth.node))

    def __index__(self) -> int:
        if self.shape or self.dtype.kind not in "iub":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.builder.decide(self.node))

    def __int__(self) -> int:
        if self.size != 1:
            raise TypeError("only length-1 arrays can be converted to Python scalars")
        whole = self if self.dtype.kind in "iub" else arithmetic.convert(self, dtype="int64")
        number = mutation.reshape_scalar(whole)
        return int(number.builder.decide(number.node))

    def __float__(self) -> float:
        node = self.node
        if self.builder.is_constant(node) or self.dtype.kind in "iub":
            return float(self.builder.decide(node))
        if is_formatting(sys._getframe(1)):
            return float(self.builder.concrete(node))
        raise self._conversion("a plain float", "Drop the conversion: NumPy and math functions "
                               "take the value as it is.")

    def __complex__(self) -> complex:
        raise self._conversion("a plain complex number", "Write x + 0j instead of complex(x).")

    # -- operators -------------------------------------------------------------------------

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise UnsupportedArgumentError("pow() with a modulus is not supported.",
                                           "Use pow(x, y) % modulus.", locate(sys._getframe(1)))
        return _operate(arithmetic.power, self, other, sys._getframe(1))

    def __neg__(self) -> Any:
        return _operate_unary(arithmetic.neg, self, sys._getframe(1))

    def __pos__(self) -> Any:
        return Tracer(self.builder, self.node)

    def __abs__(self) -> Any:
        return _operate_unary(comparison.absolute, self, sys._getframe(1))

    def __invert__(self) -> Any:
        return _operate_unary(comparison.invert, self, sys._getframe(1))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __matmul__(self, other: Any) -> Any:
        return _call_function(np.matmul, (self, other), sys._getframe(1))

    def __rmatmul__(self, other: Any) -> Any:
        return _call_function(np.matmul, (other, self), sys._getframe(1))

    def __imatmul__(self, other: Any) -> Any:
        return mutation.in_place(self, _call_function(np.matmul, (self, other),
                                                      sys._getframe(1)))

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return int(FUNCTIONS[np.round](self))
        return FUNCTIONS[np.round](self, digits)

    def __trunc__(self) -> int:
        return int(self)

    def __floor__(self) -> int:
        return int(comparison.floor(self))

    def __ceil__(self) -> int:
        return int(comparison.ceil(self))


class FlatIterator:
    """``x.flat``: iterates over, reads and writes the elements as one row."""

    def __init__(self, base: Tracer) -> None:
        self.base = base
        self.index = 0
        self.row = mutation.row_of(base)

    @property
    def coords(self) -> tuple[int, ...]:
        """Index of the next element."""
        return tuple(int(i) for i in np.unravel_index(
            min(self.index, len(self.row) - 1), self.base.shape))

    def __iter__(self) -> "FlatIterator":
        return self

    def __next__(self) -> Any:
        if self.index >= len(self.row):
            raise StopIteration
        self.index += 1
        return self.row[self.index - 1]

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, index: Any) -> Any:
        return METHODS["copy"](self.row[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.row[index] = value

    def copy(self) -> Any:
        """The elements as an array."""
        return METHODS["copy"](self.row)


ELEMENT_LIMIT = 4096      # elements that are traced one by one rather than refused


def compute_constant(builder: TraceBuilder, function: Any, args: Any, kwargs: Any, frame: Any
                     ) -> Any:
    """A function without a row, on constants only: compute it, there is nothing to lose."""
    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(plain, value))
        if not isinstance(value, Tracer):
            return value
        if not builder.is_constant(value.node):
            raise unsupported(function, locate(frame))
        return np.array(builder.concrete(value.node))[()]
    return function(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})


_PYTHON_TYPES = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_NUMBERS = (int, float, complex, np.generic, np.ndarray, list, tuple)


def _as_operand(value: Any) -> Any:
    """An operand of arithmetic as NumPy sees it: fractions and buffers take part as well."""
    if isinstance(value, (Tracer, *_NUMBERS)):
        return value
    if isinstance(value, numbers.Real):
        return float(value)
    kind = type(value)
    if getattr(kind, "__array_ufunc__", True) is not None and (
            hasattr(kind, "__array__") or isinstance(value, (memoryview, array))):
        return np.asarray(value)
    return NotImplemented


def _operate(op: Op, x: Any, y: Any, frame: Any) -> Any:
    """A binary operator of Python, with ``x`` or ``y`` traced."""
    x, y = _as_operand(x), _as_operand(y)
    if x is NotImplemented or y is NotImplemented:
        return NotImplemented
    builder = deepest((x, y))
    assert builder is not None
    if builder.closed:
        raise LeakedTracerError(
            "A traced value is used after its function has returned.",
            "Return it from the function instead of storing it elsewhere.", locate(frame))
    inside = builder.origin is not None or not builder.locates
    if not inside:
        builder.origin = locate(frame)
    try:
        raises = not inside and op in python_errors.RAISING and _is_python_number(x) and \
            _is_python_number(y) and in_try(frame)
        if raises:
            python_errors.check_operands(op, x, y)
        nodes = builder.lift(x), builder.lift(y)
        if op in _COUNTING and all(map(_is_python_bool, nodes)):       # True + True is 2
            nodes = builder.emit(arithmetic.mul, (nodes[0], builder.lift(1))), nodes[1]
        out = Tracer(builder, builder.emit(op, nodes))
        if raises and op is arithmetic.power:
            python_errors.check_power(x, y, out)
        return out
    except WengertError as error:
        error.where = error.where or locate(frame)
        raise
    finally:
        if not inside:
            builder.origin = None


_COUNTING = frozenset((arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.div,
                       comparison.floor_divide, arithmetic.mod, arithmetic.power))


def _is_python_bool(node: Node) -> bool:
    return bool(node.type.weak) and node.type.dtype == np.bool_


def _is_python_number(x: Any) -> bool:
    return x.type.weak if is_traced(x) else is_python_number(x)


def _operate_unary(op: Op, x: Tracer, frame: Any) -> Any:
    if op is arithmetic.neg and _is_python_bool(x.node):
        x = _operate(arithmetic.mul, x, 1, frame)
    return enter(record, x.builder, (op, (x,), ()), {}, frame)


def _call_function(function: Any, args: tuple[Any, ...], frame: Any) -> Any:
    builder = deepest(args)
    assert builder is not None
    return enter(FUNCTIONS[function], builder, args, {}, frame)


def _call_ufunc(op: Op, args: tuple[Any, ...]) -> Any:
    out = record(op, args, ())
    if op.infix is not None and isinstance(out, Tracer) and out.type.weak:
        out = arithmetic.convert(out, dtype=out.dtype.name)   # np.add(1.0, 2.0) is a NumPy scalar
    return out


def _binary_methods(op: Op) -> tuple[Any, Any, Any]:
    def forward(self: Tracer, other: Any) -> Any:
        return _operate(op, self, other, sys._getframe(1))

    def reflected(self: Tracer, other: Any) -> Any:
        return _operate(op, other, self, sys._getframe(1))

    def in_place(self: Tracer, other: Any) -> Any:
        frame = sys._getframe(1)
        out = _operate(op, self, other, frame)
        if out is NotImplemented or not (self.shape or self.boxed):
            return out
        return enter(mutation.in_place, self.builder, (self, out), {}, frame)
    return forward, reflected, in_place


for _name, _op in (("add", arithmetic.add), ("sub", arithmetic.sub), ("mul", arithmetic.mul),
                   ("truediv", arithmetic.div), ("floordiv", comparison.floor_divide),
                   ("mod", arithmetic.mod), ("and", comparison.bitwise_and),
                   ("or", comparison.bitwise_or), ("xor", comparison.bitwise_xor),
                   ("lshift", comparison.left_shift), ("rshift", comparison.right_shift)):
    _methods = _binary_methods(_op)
    for _prefix, _method in zip(("__", "__r", "__i"), _methods, strict=True):
        setattr(Tracer, f"{_prefix}{_name}__", _method)
Tracer.__rpow__, Tracer.__ipow__ = _binary_methods(arithmetic.power)[1:]  # type: ignore[attr-defined]
for _name, _op in (("lt", comparison.less), ("le", comparison.less_equal),
                   ("gt", comparison.greater), ("ge", comparison.greater_equal),
                   ("eq", comparison.equal), ("ne", comparison.not_equal)):
    setattr(Tracer, f"__{_name}__", _binary_methods(_op)[0])


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else () if value is None else (value,)

