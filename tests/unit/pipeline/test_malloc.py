"""The C library is asked for what it has; where it has not that, nothing happens."""

from __future__ import annotations

import ctypes

import pytest

from replicator.pipeline import malloc


@pytest.fixture(autouse=True)
def _forget() -> None:
    malloc.keep.cache_clear()
    malloc._library.cache_clear()


def test_it_can_be_asked_again_and_again() -> None:
    for _ in range(2):
        malloc.keep()
        malloc.release()


def test_another_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    malloc.keep()
    malloc.release()


def test_what_is_left_behind_goes_when_a_task_becomes_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[float] = []
    rest, now = malloc.IdleRelease(), 100.0
    monkeypatch.setattr(malloc, "release", lambda: released.append(now))
    delivered = {100.0: 0, 101.0: 0, 103.0: 0, 104.0: 5, 105.0: 5, 107.0: 5, 114.0: 5, 120.0: 5, 300.0: 5}
    for now, amount in delivered.items():
        rest.seen(amount, now)
    assert released == [103.0, 114.0]  # quiet for a while, not too soon again, and once for what was delivered
