"""The only user of Jinja2: templates arrange what Python has decided."""

from functools import cache
from typing import Any


@cache
def _environment() -> Any:
    # Importing wengert is to be quick, and this package takes a while.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415
    return Environment(loader=PackageLoader("wengert.codegen"), undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                       autoescape=False)


def render(template: str, **values: Any) -> str:
    """A template filled in."""
    text: str = _environment().get_template(template).render(**values)
    return text
