"""Loading generated Python source, so that tracebacks and debuggers can show it."""

import itertools
import linecache
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..codegen.source import Source

_COUNTER = itertools.count(1)


def load(source: Source, other_branch: Callable[..., Any] | None = None
         ) -> Callable[..., Any]:
    """The module's function. A deferred function is compiled when it is called for the first time.

    Args:
        source: generated module.
        other_branch: what to call when a guard does not hold.
    """
    filename = f"<wengert {source.name} {next(_COUNTER)}>"
    linecache.cache[filename] = (len(source.text), None, source.text.splitlines(True), filename)
    module = ModuleType(source.name)
    module.__dict__.update(source.data)
    if source.on_device:
        # Importing wengert is to be quick, and the module is run where there is a GPU only.
        from .load_cuda import load_later  # noqa: PLC0415
        return load_later(source, module, filename)
    at = source.text.find(f"\ndef {source.deferred}(") if source.deferred else len(source.text)
    exec(compile(source.text[:at], filename, "exec"), module.__dict__)   # the text is our own
    if source.deferred:
        def deferred(*args: Any) -> Any:
            above = "\n" * source.text.count("\n", 0, at)         # lines keep their numbers
            exec(compile(above + source.text[at:], filename, "exec"), module.__dict__)
            return module.__dict__[source.deferred](*args)
        module.__dict__[source.deferred] = deferred
    module.__dict__.update(source.captured)
    if source.kernels:
        # Importing wengert is to be quick, and most functions have no kernels.
        from .load_c import load_kernels  # noqa: PLC0415
        module.__dict__.update(load_kernels(source))
    if other_branch is not None:
        module.__dict__["other_branch"] = other_branch
    return module.__dict__[source.name]  # type: ignore[no-any-return]
