"""Types of values: shape, dtype, and whether the value is a plain Python number.

NumPy (NEP 50) lets a Python number take the dtype of the array it meets. Such values are
*weak* here: ``2.0 * x`` keeps the dtype of ``x``.
"""

from typing import Any, NamedTuple

import numpy as np

from .errors import ArraySubclassError, ObjectArrayError

_PLAIN_ARRAYS = (np.ndarray, np.memmap)
_PYTHON = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64),
           complex: np.dtype(np.complex128)}
_WEAK_NAMES = {dtype: python.__name__ for python, dtype in _PYTHON.items()}
_SHORT = {"b": "bool", "i": "i", "u": "u", "f": "f", "c": "c"}


class ArrayType(NamedTuple):
    """Shape and dtype of a value; ``weak`` for plain Python numbers.

    >>> str(ArrayType((2, 3), np.dtype("float32")))
    'f32[2,3]'
    >>> str(ArrayType((), np.dtype("float64"), weak=True))
    'float'
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak: bool = False

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for length in self.shape:
            n *= length
        return n

    @property
    def nbytes(self) -> int:
        """Bytes an array of this type occupies."""
        return self.size * self.dtype.itemsize

    @property
    def strong(self) -> "ArrayType":
        """The same type, no longer that of a plain Python number."""
        return ArrayType(self.shape, self.dtype)

    @property
    def differentiable(self) -> bool:
        """Whether values of this type have tangents: real or complex floating point."""
        return self.dtype.kind in "fc"

    def __str__(self) -> str:
        if self.weak:
            return _WEAK_NAMES[self.dtype]
        return f"{short_dtype(self.dtype)}[{','.join(map(str, self.shape))}]"


def short_dtype(dtype: np.dtype[Any]) -> str:
    """``f64`` for float64, ``i32`` for int32, ``bool`` for bool."""
    if dtype.kind == "b":
        return "bool"
    return f"{_SHORT[dtype.kind]}{dtype.itemsize * 8}"


def dtype_of_short(name: str) -> np.dtype[Any]:
    """Inverse of :func:`short_dtype`."""
    if name == "bool":
        return np.dtype(bool)
    return np.dtype(f"{name[0]}{int(name[1:]) // 8}")


def parse_type(text: str) -> ArrayType:
    """Inverse of ``str(ArrayType)``.

    >>> parse_type("f32[2,3]").shape
    (2, 3)
    """
    for dtype, name in _WEAK_NAMES.items():
        if text == name:
            return ArrayType((), dtype, weak=True)
    name, _, rest = text.partition("[")
    shape = tuple(int(n) for n in rest.rstrip("]").split(",") if n)
    return ArrayType(shape, dtype_of_short(name))


def type_of(value: Any) -> ArrayType:
    """Type of a Python number, NumPy scalar or array.

    Raises:
        ObjectArrayError: for anything that is not made of numbers.
    """
    dtype = _PYTHON.get(type(value))
    if dtype is not None:
        return ArrayType((), dtype, weak=True)
    if not isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
    elif isinstance(value, np.ndarray) and type(value) not in _PLAIN_ARRAYS:
        raise ArraySubclassError(
            f"A {type(value).__name__} is an array whose operations mean something else than "
            "those of plain arrays.", "Pass its data as a plain array: np.asarray(x), after "
            "filling in or dropping what is masked.")
    if value.dtype.kind not in "biufc":
        raise ObjectArrayError(
            f"A value of dtype {value.dtype} ({type(value).__name__}) is not made of numbers.",
            "Convert it to a float, integer, boolean or complex array first.")
    dtype = value.dtype
    return ArrayType(value.shape, dtype if dtype.isnative else dtype.newbyteorder("="))


def is_python_number(value: Any) -> bool:
    """Whether the value is a plain bool, int, float or complex (not a subclass)."""
    return type(value) in _PYTHON


def python_number(value: Any, dtype: np.dtype[Any]) -> Any:
    """The value as the plain Python number of that dtype."""
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind == "f":
        return float(value)
    return complex(value) if dtype.kind == "c" else int(value)
