"""How many threads share large kernels."""

import sys

from .options import thread_count

MODULE = "wengert_native"          # the support module's name, once it is loaded
_wanted: list[int] = []            # what was asked for last; empty before that


def set_num_threads(n: int) -> None:
    """How many threads share the work of one large kernel; results do not depend on it.

    The default is the number of processors this process may use, or what ``WENGERT_NUM_THREADS``
    says.

    Args:
        n: at least 1.

    Raises:
        ValueError: if it is less.

    >>> import wengert as wg
    >>> wg.set_num_threads(2)
    """
    if n < 1:
        raise ValueError(f"set_num_threads({n}): there must be at least one thread.")
    _wanted[:] = [int(n)]
    if MODULE in sys.modules:
        sys.modules[MODULE].set_threads(int(n))


def num_threads() -> int:
    """The number in force."""
    return _wanted[0] if _wanted else thread_count()
