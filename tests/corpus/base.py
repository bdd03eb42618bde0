"""What a program of the corpus is.

A program is a plain NumPy function with example arguments. Arguments whose leaves are all of
floating point are differentiated. ``order=1`` marks programs that are not smooth enough, or too
large, for second derivatives by differences.
"""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A function and its example arguments."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    argnums: tuple[int, ...]
    order: int = 2


PROGRAMS: list[Program] = []


def program(*args: Any, order: int = 2) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the decorated function to the corpus."""
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        argnums = tuple(i for i, a in enumerate(args) if _is_float(a))
        PROGRAMS.append(Program(function.__name__, function, args, argnums, order))
        return function
    return add


def _is_float(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_float, value.values()))
    if isinstance(value, (tuple, list)):
        return all(map(_is_float, value))
    return np.asarray(value).dtype.kind == "f"


_rng = np.random.default_rng(20240501)


def normal(*shape: int) -> np.ndarray:
    """Standard normal numbers."""
    return _rng.standard_normal(shape)


def positive(*shape: int) -> np.ndarray:
    """Numbers between 0.5 and 1.5."""
    return _rng.uniform(0.5, 1.5, shape)


Parameters = namedtuple("Parameters", "scale offset")
