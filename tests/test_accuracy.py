"""Derivatives of elementwise functions against mpmath: a small run of the accuracy benchmark."""

import importlib.util
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest


def _load():
    path = Path(__file__).parent.parent / "benchmarks" / "accuracy.py"
    spec = importlib.util.spec_from_file_location("accuracy_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


ACCURACY = _load()


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
