"""Real failures of other tools: every case, in both modes."""

import copy
import importlib
import pickle
import time
from pathlib import Path

import numpy as np
import pytest
import wengert as wg
from cases.case import CASES
from wengert.compiler import errors
from wengert.compiler.trace.tree import flatten

for _file in sorted((Path(__file__).parent / "cases").glob("*.py")):
    importlib.import_module(f"cases.{_file.stem}")

MODES = pytest.mark.parametrize("mode", ["reverse", "forward"])


def derivative(case, mode):
    """The derivative function that a case asks for."""
    if case.want == "value":
        both = wg.value_and_grad(case.function, case.argnum, mode=mode)
        return lambda *args: both(*args)[0]
    if case.want in ("hessian", "jacobian"):
        return getattr(wg, case.want)(case.function, case.argnum, mode=mode)
    out = case.function
    for _ in range(case.order):
        out = wg.grad(out, case.argnum, mode=mode)
    return out


def matches(got, expected, case):
    """Same structure, shapes and values within the case's tolerance."""
    got_leaves, expected_leaves = flatten(got)[0], flatten(expected)[0]
    if len(got_leaves) != len(expected_leaves):
        return False
    for g, e in zip(got_leaves, expected_leaves, strict=True):
        g, e = np.asarray(g), np.asarray(e)
        tol = case.tol * (np.abs(e) if case.rel else np.maximum(1, np.abs(e)))
        with np.errstate(invalid="ignore"):
            same = (np.isnan(g) & np.isnan(e)) | (np.abs(g - e) <= tol) if g.shape == e.shape \
                else False
        if not np.all(same) or (case.dtype is not None and g.dtype != case.dtype):
            return False
    return True


def assert_right(got, expected, case):
    assert any(matches(got, e, case) for e in (expected, *[v for _, v in case.accept])), \
        (got, expected)


@MODES
@np.errstate(all="ignore")        # many cases are at points where NumPy warns, too
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case, mode):
    start = time.perf_counter()
    function = derivative(case, mode)
    args = copy.deepcopy(case.args)
    if case.want == "error":
        with pytest.raises(wg.WengertError) as caught:
            function(*args)
        assert any(word in str(caught.value).lower() for word in case.expected)
        return
    try:
        got = function(*args)
    except errors.WengertError as error:
        if not any(word in str(error).lower() for word in case.or_error):
            raise
        return
    assert_right(got, case.expected, case)
    np.testing.assert_equal(args, case.args)
    if case.how == "pickle":
        again = pickle.loads(pickle.dumps(function))
        assert_right(again(*copy.deepcopy(case.args)), case.expected, case)
    if case.args2 is not None:
        assert_right(function(*copy.deepcopy(case.args2)), case.expected2, case)
        assert_right(function(*copy.deepcopy(case.args)), case.expected, case)
    if case.mutate is not None:
        try:
            case.mutate()
            assert_right(function(*copy.deepcopy(case.args)), case.expected_after, case)
        finally:
            case.reset()
        assert_right(function(*copy.deepcopy(case.args)), case.expected, case)
    assert time.perf_counter() - start < case.limit_s


def test_all_cases_are_there():
    assert len(CASES) == len({case.id for case in CASES}) == 145
