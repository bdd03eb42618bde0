"""Names in generated code: the user's own, made valid and unique."""

import builtins
import keyword
import math
import re
import unicodedata
from collections.abc import Iterable

# What generated code calls must not be shadowed by a user's variable.
RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(
    dir(builtins)) | frozenset(n for n in dir(math) if n.startswith("__")) | {
    "np", "fft", "integrate", "interpolate", "linalg", "special", "math", "other_branch"}


def identifier(name: str) -> str:
    """A valid Python identifier that resembles the name.

    >>> identifier("lambda"), identifier("x y"), identifier("1st"), identifier("θ")
    ('lambda_', 'x_y', '_1st', 'θ')
    """
    name = unicodedata.normalize("NFKC", name)
    name = re.sub(r"\W", "_", name)
    if not name or name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in RESERVED else name


class Names:
    """Hands out unique names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def take(self, name: str) -> None:
        """Never hand out this name."""
        self._taken.add(name)

    def unique(self, wish: str) -> str:
        """The name itself when it is free, else with a number."""
        name = base = identifier(wish)
        while name in self._taken:
            n = self._next.get(base, 0) + 1
            self._next[base] = n
            name = f"{base}_{n}"
        self._taken.add(name)
        return name
