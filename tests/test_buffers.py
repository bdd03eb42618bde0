"""Reuse of memory never changes an answer: with and without, all results are bitwise equal."""

import contextlib
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import wengert as wg
from agreement import same
from hypothesis import given, settings
from programs import PROGRAMS
from test_random_programs import FIXED, programs, run
from wengert.codegen import emit, reuse
from wengert.codegen.numpy_source import numpy_source
from wengert.codegen.reuse import array_source
from wengert.compiler.trace.tree import flatten

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)


@contextlib.contextmanager
def forced(setting, monkeypatch_or_none=None):
    """Every array is large, or none is."""
    kept = emit.array_source

    def source(graph, annotate=True):
        return array_source(graph, annotate, reuse=setting, threshold=0)
    emit.array_source = source
    try:
        yield
    finally:
        emit.array_source = kept


def compiled(make, setting, *args):
    """The results and the sources of what ``make()`` gives, with reuse forced or off."""
    with forced(setting), np.errstate(all="ignore"):
        one = make()
        return flatten(one(*args))[0], one.source


def modes(program):
    options = wg.Options(lane="array") if hasattr(wg, "Options") else None
    assert options is None
    names = program.argnums
    yield lambda: wg.compile(program.function, lane="array")
    for mode in ("forward", "reverse"):
        yield lambda mode=mode: wg.jacobian(program.function, names, mode=mode, lane="array")


@each_program
def test_programs(program):
    for make in modes(program):
        on, text = compiled(make, True, *program.args)
        off, _ = compiled(make, False, *program.args)
        for a, b in zip(on, off, strict=True):
            assert same(a, b), text
