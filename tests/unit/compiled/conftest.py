"""These tests compare the compiled code with its twin, so they need it."""

from __future__ import annotations

import pytest

from replicator import compiled


@pytest.fixture(autouse=True)
def _compiled() -> None:
    if not compiled.available():
        pytest.skip(f"the compiled code is not there: {compiled.why_not()}")
