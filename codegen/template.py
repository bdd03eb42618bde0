"""The only user of Jinja2: templates arrange what Python has decided."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    return Environment(loader=PackageLoader("wengert.codegen"), undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                       autoescape=False)


def render(template: str, **values: Any) -> str:
    """A template filled in."""
    return _environment().get_template(template).render(**values)
