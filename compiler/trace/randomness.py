"""Functions that draw random numbers: a traced function must not, since code would repeat them."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import RandomnessError
from .locate import locate

_STATE = ("seed", "get_state", "set_state", "getstate", "setstate")


def error() -> RandomnessError:
    """The error for a draw."""
    return RandomnessError(
        "The function draws random numbers; compiled code would use the same ones at every call.",
        "Draw them outside and pass them as an argument.", locate())


def drawing_functions() -> Iterator[tuple[Any, Callable[..., Any]]]:
    """Functions of ``random`` and ``np.random`` with what stands for them while tracing."""
    hidden = (np.random.mtrand._rand, random._inst)
    for module in (random, np.random):
        for name, function in vars(module).items():
            if getattr(function, "__self__", None) in hidden and name not in _STATE:
                yield function, _refuse
    yield np.random.default_rng, _generator


def _refuse(*_: Any, **__: Any) -> Any:
    raise error()


def _generator(seed: Any = None) -> Any:
    """A generator with a given seed gives the same numbers in the plain function, too."""
    if seed is None:
        raise error()
    return np.random.default_rng(seed)


def state_of(generator: Any) -> Any:
    """What changes when a generator is drawn from; None if it is not a generator."""
    if isinstance(generator, np.random.Generator):
        return repr_of(generator.bit_generator.state)
    if isinstance(generator, np.random.RandomState):
        return repr_of(generator.get_state(legacy=False))
    if isinstance(generator, random.Random):
        return generator.getstate()
    return None


def repr_of(state: Any) -> Any:
    """A state as something that compares by content."""
    if isinstance(state, dict):
        return tuple((key, repr_of(value)) for key, value in state.items())
    return state.tobytes() if isinstance(state, np.ndarray) else state
