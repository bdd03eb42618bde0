"""Watching captured values: tests, spelled as code, that they are what they were.

Almost always everything is still the very same object, so most tests are of identity. Only where
one of them fails are values compared; an equal number in place of another is no change.
"""

from operator import is_
from typing import Any

import numpy as np

_FORMS = {"cell": "{o}.cell_contents", "item": "{o}[{k}]", "attribute": "{o}.{key}",
          "member": "{o}.__dict__[{k}]",
          "defaults": "{o}.__defaults__[{k}]", "kwdefaults": "{o}.__kwdefaults__[{k}]"}
_NUMBERS = (bool, int, float, complex, str, bytes, np.generic)
_SMALL = 4096          # bytes; larger arrays are compared without a copy


def same_number(a: Any, b: Any) -> bool:
    """Equal, of the same type and sign, NaN being equal to itself."""
    if a is b:
        return True
    if type(a) is not type(b) or not isinstance(a, _NUMBERS):
        return False
    return bool(a == b and str(a) == str(b)) or bool(a != a and b != b)


def same_items(items: Any, content: tuple[Any, ...]) -> bool:
    """Whether a sequence holds the very same objects."""
    return len(items) == len(content) and all(map(is_, items, content))


def same_mapping(mapping: dict[Any, Any], keys: tuple[Any, ...], content: tuple[Any, ...]) -> bool:
    """Whether a dictionary has these keys, in this order, and the very same values."""
    return len(mapping) == len(keys) and all(map(is_, mapping.values(), content)) \
        and tuple(mapping) == keys


def same_bits(array: np.ndarray[Any, Any], bits: np.ndarray[Any, Any]) -> bool:
    """Whether an array has the same content, bit by bit."""
    return bool(np.array_equal(array.view(bits.dtype), bits))


class Watch:
    """A growing list of tests.

    Attributes:
        tests: Python expressions, all true as long as nothing has changed.
        space: what the names in them stand for.
        rebindable: for tests of places that hold a number, the expression of the place and the
            name of the number.
        certain: whether no test can raise an error, so that they may stand in any code.
    """

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.space: dict[str, Any] = {
            "same_items": same_items, "same_mapping": same_mapping, "same_bits": same_bits}
        self.rebindable: dict[str, tuple[str, str]] = {}
        self.certain = True

    def bind(self, value: Any) -> str:
        """A name for a value in the generated code."""
        name = f"_w_v{len(self.space)}"
        self.space[name] = value
        return name

    def code(self, function: Any) -> None:
        """A function has the same code."""
        self.tests.append(f"{self.bind(function)}.__code__ is {self.bind(function.__code__)}")

    def place(self, owner: Any, kind: str, key: Any, value: Any) -> None:
        """The place holds the very same object."""
        self.certain = False
        k = repr(key) if type(key) in (str, int) else self.bind(key)
        expression = _FORMS[kind].format(o=self.bind(owner), k=k, key=key)
        name = self.bind(value)
        test = f"{expression} is {name}"
        self.tests.append(test)
        if isinstance(value, _NUMBERS):
            self.rebindable[test] = (expression, name)

    def missing(self, owner: Any, name: str) -> None:
        """The attribute is not set."""
        self.certain = False
        self.tests.append(f"not hasattr({self.bind(owner)}, {name!r})")

    def length(self, state: Any) -> None:
        """A namespace has no more and no fewer names."""
        self.certain = False
        self.tests.append(f"len({self.bind(state)}) == {len(state)}")

    def absent(self, space: dict[str, Any], names: set[str]) -> None:
        """A namespace does not hide these names of Python's."""
        if names:
            keys = self.bind(space.keys())
            self.tests.append(f"{keys}.isdisjoint({self.bind(frozenset(names))})")

    def sequence(self, value: Any) -> None:
        """A list, tuple or deque holds the same objects."""
        self.certain = False
        if not isinstance(value, tuple):     # a tuple is what it is
            self.tests.append(f"same_items({self.bind(value)}, {self.bind(tuple(value))})")

    def mapping(self, value: dict[Any, Any]) -> None:
        """A dictionary has the same keys and objects."""
        self.certain = False
        content = tuple(value.values())
        self.tests.append(f"same_mapping({self.bind(value)}, {self.bind(tuple(value))}, "
                          f"{self.bind(content)})")

    def set_(self, value: Any) -> None:
        """A set has the same elements."""
        self.certain = False
        if isinstance(value, set):
            self.tests.append(f"{self.bind(value)} == {self.bind(frozenset(value))}")

    def objects(self, value: np.ndarray[Any, Any]) -> None:
        """An object array holds the same objects."""
        self.certain = False
        self.tests.append(f"same_items({self.bind(value.reshape(-1))}, "
                          f"{self.bind(tuple(value.flat))})")

    def buffer(self, value: Any) -> None:
        """An ``array.array`` has the same content."""
        self.certain = False
        self.tests.append(f"{self.bind(value)}.tobytes() == {self.bind(value.tobytes())}")

    def array(self, value: np.ndarray[Any, Any]) -> None:
        """An array has the same shape, dtype and content."""
        self.certain = False
        o = self.bind(value)
        self.tests.append(f"{o}.shape == {value.shape}")
        self.tests.append(f"{o}.dtype is {self.bind(value.dtype)}")
        if value.nbytes <= _SMALL or not value.flags.c_contiguous or value.dtype.kind not in \
                "biufc" or value.itemsize not in (1, 2, 4, 8):
            self.tests.append(f"{o}.tobytes() == {self.bind(value.tobytes())}")
        else:
            bits = value.view(f"u{value.itemsize}").copy()
            self.tests.append(f"same_bits({o}, {self.bind(bits)})")
