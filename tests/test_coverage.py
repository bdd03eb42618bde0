"""The coverage page is what the functions do; every function is in exactly one class."""

import coverage_table
import numpy as np
import pytest
import wengert as wg
from coverage_samples import NOT_APPLICABLE, SAMPLES


def test_the_page_is_up_to_date():
    assert coverage_table.PAGE.read_text() == coverage_table.page(coverage_table.table()), \
        "run python tests/coverage_table.py"


def test_the_lists_name_functions_that_exist():
    known = {f"{path}.{name}" for path, namespace in coverage_table.NAMESPACES.items()
             for name in dir(namespace)}
    assert set(NOT_APPLICABLE) <= known
    assert set(SAMPLES) <= known
    assert not set(SAMPLES) & set(NOT_APPLICABLE)


def test_a_function_that_nobody_knows_is_found(monkeypatch):
    def unheard_of(first, second, *, third):
        return first
    monkeypatch.setattr(np, "unheard_of", unheard_of, raising=False)
    with pytest.raises(LookupError, match="unheard_of"):
        coverage_table.classify("numpy", "unheard_of")


def test_a_wrong_derivative_is_found(monkeypatch):
    @wg.custom_jvp
    def doubled(x):
        return 2.0 * x

    @doubled.defjvp
    def _(primals, tangents):
        return 2.0 * primals[0], 3.0 * tangents[0]
    monkeypatch.setattr(np, "doubled", lambda x: doubled(x), raising=False)
    with pytest.raises(AssertionError):
        coverage_table.classify("numpy", "doubled")


def test_classes_of_some_functions():
    kinds = {name: coverage_table.classify("numpy", name).kind for name in (
        "sin", "floor", "argmax", "zeros", "unique", "save")}
    assert kinds == {"sin": coverage_table.DERIVATIVE, "floor": coverage_table.ZERO,
                     "argmax": coverage_table.STRUCTURE, "zeros": coverage_table.CREATION,
                     "unique": coverage_table.RAISES, "save": coverage_table.NOT}
