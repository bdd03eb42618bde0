"""While the tests run, graphs are verified after every pass, and every reuse of memory is proved.

Golden files have a switch.
"""

import os
from pathlib import Path

# The test workers share the processors; threads of their own would only wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What was compiled by an earlier run, or by another worker, is not compiled again.
os.environ.setdefault("WENGERT_CACHE_DIR",
                      str(Path(__file__).parents[1] / ".pytest_cache" / "native"))

import pytest
from wengert.codegen import reuse
from wengert.compiler.passes import pipeline


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true",
                     help="write the golden files anew instead of comparing with them")


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setattr(pipeline, "VERIFY_AFTER_EVERY_PASS", True)
    monkeypatch.setattr(reuse, "CHECK_EVERY_REUSE", True)


@pytest.fixture
def update_golden(request):
    """Whether golden files are to be written."""
    return request.config.getoption("--update-golden")
