"""One generated function tells whether any captured value has changed."""

from collections.abc import Callable
from typing import Any

from ..compiler.trace.watch import Watch, same_number

_ERRORS = (LookupError, AttributeError, ValueError, TypeError)      # a place is no longer there


def change_test(watch: Watch) -> Callable[[], bool] | None:
    """A function that is true once a watched value differs; None if nothing is watched."""
    if not watch.tests:
        return None
    conditions = "\n                and ".join(watch.tests)
    text = f"""def changed():
    try:
        if ({conditions}):
            return False
    except errors:
        return True
    return compare()
"""
    watch.space.update(errors=_ERRORS, compare=lambda: _compare(watch))
    exec(compile(text, "<wengert captures>", "exec"), watch.space)      # the text is our own
    return watch.space["changed"]  # type: ignore[no-any-return]


def _compare(watch: Watch) -> bool:
    """Test one by one; equal numbers are from now on watched in place of the old ones."""
    equal: dict[str, Any] = {}
    for test in watch.tests:
        if eval(test, watch.space):
            continue
        if test not in watch.rebindable:
            return True
        expression, name = watch.rebindable[test]
        value = eval(expression, watch.space)
        if not same_number(value, watch.space[name]):
            return True
        equal[name] = value
    watch.space.update(equal)
    return False
