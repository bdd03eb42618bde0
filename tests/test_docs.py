"""Every code block of the README and of ``docs/`` runs, and prints what the document shows.

Blocks of one document share a namespace. A ``text`` block right after a ``python`` block is its
output; an error is shown by its class and message, and so is a warning. In messages each block is
a file ``example.py``. ``python tests/test_docs.py`` brings the shown outputs up to date.
"""

import contextlib
import doctest
import importlib
import io
import linecache
import pkgutil
import re
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest
import wengert
from wengert.compiler import errors
from wengert.compiler.passes import pipeline

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"),
                    *(path for folder in ("compiler", "codegen", "runtime", "examples", "tests",
                                          "benchmarks")
                      for path in (ROOT / folder).rglob("README.md"))])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, its text, and where the text stands."""

    language: str
    text: str
    start: int
    line: int


def blocks(document):
    """All fenced blocks of a document, in order."""
    return [Block(found[1], found[2], found.start(2), document.count("\n", 0, found.start(2)))
            for found in FENCE.finditer(document)]


def output(block, path, namespace):
    """What a block prints; to its reader, a block is a file of its own."""
    printed = io.StringIO()
    file = f"/document/{path.stem}/{block.line}/example.py"
    linecache.cache[file] = (len(block.text), None, block.text.splitlines(True), file)
    code = compile(block.text, file, "exec")
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            exec(code, namespace)
        except (errors.WengertError, ValueError, TypeError) as error:
            print(f"{type(error).__name__}: {error}")
    said = [f"{w.category.__name__}: {w.message}\n" for w in caught]
    return re.sub(r"/document/\S+?/example", "example", "".join(said) + printed.getvalue())


def examples(document):
    """Each ``python`` block without prompts, with the ``text`` block that follows it or None."""
    found = blocks(document)
    for position, block in enumerate(found):
        following = found[position + 1] if position + 1 < len(found) else None
        if block.language == "python" and ">>>" not in block.text:
            is_output = following is not None and following.language == "text" and document[
                block.start + len(block.text):following.start].strip("`\n") == "text"
            yield block, following if is_output else None


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_document(path):
    document = path.read_text(encoding="utf-8")
    namespace = {"__name__": "document"}
    for block, shown in examples(document):
        assert output(block, path, namespace).rstrip() == (shown.text.rstrip() if shown else "")
    runner = doctest.DocTestRunner(verbose=False)
    for block in blocks(document):
        if block.language == "python" and ">>>" in block.text:
            test = doctest.DocTestParser().get_doctest(block.text, namespace, path.name,
                                                       str(path), block.line)
            assert runner.run(test, clear_globs=False).failed == 0


MODULES = sorted(m.name for m in pkgutil.walk_packages(wengert.__path__, "wengert.")
                 if m.name.split(".")[1] in ("compiler", "codegen", "runtime"))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_error_is_shown():
    document = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    shown = "".join(block.text for block in blocks(document) if block.language == "text")
    code = "".join(path.read_text(encoding="utf-8") for folder in ("compiler", "codegen", "runtime")
                   for path in (ROOT / folder).rglob("*.py") if path.name != "errors.py")
    for name, kind in vars(errors).items():
        if not isinstance(kind, type) or not issubclass(kind, (errors.WengertError, UserWarning)):
            continue
        if kind is not errors.WengertError and re.search(rf"\b{name}\b", code):
            assert f"## {name}\n" in document
            assert f"{name}: " in shown, f"docs/errors.md has no example of {name}"


def test_every_pass_is_explained():
    document = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    for one in {*pipeline.PREPARE, *pipeline.PIPELINE, *pipeline.SCALAR}:
        assert f"| `{one.__name__}` |" in document


def test_ci_runs_the_test_command_of_the_readme():
    commands = [block.text.strip() for block in blocks((ROOT / "README.md").read_text("utf-8"))
                if block.language == "sh"]
    script = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert len(commands) == 2
    assert all("\n" not in command for command in commands)
    assert "examples/regression.py" in commands[0]
    assert "pytest" in commands[1]
    assert commands[1] in script


def updated(path, document):
    """The document with what its blocks print now."""
    namespace = {"__name__": "document"}
    parts, end = [], 0
    for block, shown in examples(document):
        said = output(block, path, namespace)
        if shown is not None:
            parts += [document[end:shown.start], said.rstrip(), "\n"]
            end = shown.start + len(shown.text)
        elif said:
            print(f"{path}:{block.line}: prints, but nothing is shown:\n{said}")
    return "".join([*parts, document[end:]])


def update(path):
    """Write what the blocks print into the document."""
    path.write_text(updated(path, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for one in [Path(a).resolve() for a in sys.argv[1:]] or DOCUMENTS:
        update(one)
