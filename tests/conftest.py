"""Every graph is verified after every pass while the tests run."""

import pytest
from wengert.compiler.passes import pipeline


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setattr(pipeline, "VERIFY_AFTER_EVERY_PASS", True)
