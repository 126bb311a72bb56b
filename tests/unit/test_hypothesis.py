"""Threads that use `random` beside a property test do not make it flaky."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def busy() -> Iterator[None]:
    """As the clients' threads do that an earlier test has left to end."""
    over = threading.Event()

    def draw() -> None:
        while not over.wait(0.0002):
            random.randint(1, 40)

    thread = threading.Thread(target=draw)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.usefixtures("busy")
@settings(max_examples=300, database=None)
@given(st.text(min_size=1, max_size=20), st.integers(0, 2**31 - 1), st.uuids())
def test_draws_are_not_disturbed(name: str, number: int, guid: object) -> None:
    """FlakyFailure or FlakyStrategyDefinition where the warning about `random` is an error (pyproject.toml)."""
