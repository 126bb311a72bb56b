"""`present`: a value that a test needs, after a check that it is not None."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def present(value: T | None) -> T:
    """`value`, typed without None. AssertionError where it is None."""
    assert value is not None
    return value
