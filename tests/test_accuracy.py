"""Derivatives of elementwise functions against mpmath: a small run of the accuracy benchmark."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
from wengert.compiler.ops.row import Elementwise
from wengert.compiler.ops.table import TABLE


def _load(name):
    path = Path(__file__).parent.parent / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


ACCURACY = _load("accuracy")
SPECIAL = _load("accuracy_special")       # imports the former by its name


@pytest.mark.parametrize("row", ACCURACY.ROWS, ids=lambda row: row.name)
def test_within_limit(row):
    with mpmath.workdps(ACCURACY.DIGITS):
        error, at, position = ACCURACY.worst(row, 200, seed=7)
    assert error <= ACCURACY.LIMIT, f"partial {position} at {at}: {error} ulp"


def test_a_formula_that_cancels_is_found_out():
    row = ACCURACY.Row("versine", lambda x: x - np.sin(x),
                       (lambda x: 2 * mpmath.sin(x / 2) ** 2,), ("angle",))
    with mpmath.workdps(ACCURACY.DIGITS):
        error, _, _ = ACCURACY.worst(row, 200)
    assert error > 1e3


@pytest.mark.parametrize("name", ["dawsn", "binom", "inv_boxcox", "ellipk", "jv", "kve", "k0e",
                                  "i1e", "gammainc"])
def test_special_functions_are_as_exact_as_scipy_s(name):
    with mpmath.workdps(40), np.errstate(all="ignore"):
        found = SPECIAL.worst(TABLE[name], 8)
    assert found.formula <= ACCURACY.LIMIT


def test_a_special_formula_that_cancels_is_found_out():
    def partial(x, out):                    # erf′ by a difference of two functions of SciPy
        return 2 / np.sqrt(np.pi) * ((np.exp(-x * x) + 1e6) - 1e6)
    wrong = replace(TABLE["erf"], derivative=Elementwise((partial,)))
    with mpmath.workdps(40), np.errstate(all="ignore"):
        found = SPECIAL.worst(wrong, 8)
    assert found.error > 1e3
    assert found.formula > 1e3
