"""LIKE against its definition; the rest of filters is tested with the language, in tests/unit/transform."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.decode.plan.predicates import like
from tests.unit.transform.test_filters import like as by_definition


@settings(max_examples=500)
@given(st.text("ab", max_size=9), st.text("ab%_\\", max_size=7))
def test_like(text: str, pattern: str) -> None:
    assert (like(pattern)(text) is not None) is by_definition(text, pattern)


@pytest.mark.parametrize("pattern", ["%a%a%a%a%a%a%a%a%b", "%" * 1000 + "b", "%a_%a_%a_%b%"])
def test_no_pattern_takes_long(pattern: str) -> None:
    began = time.perf_counter()
    assert like(pattern)("a" * 20_000) is None
    assert time.perf_counter() - began < 1
