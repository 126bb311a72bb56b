"""The C library is asked for what it has; where it has not that, nothing happens."""

from __future__ import annotations

import ctypes

import pytest

from replicator import memory


@pytest.fixture(autouse=True)
def _forget() -> None:
    memory.keep.cache_clear()
    memory._library.cache_clear()


def test_it_can_be_asked_again_and_again() -> None:
    for _ in range(2):
        memory.keep()
        memory.release()


def test_another_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    memory.keep()
    memory.release()
