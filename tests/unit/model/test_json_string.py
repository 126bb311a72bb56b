from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.model.json_string import quote


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ('co"l', '"co\\"l"'),
        ("\x1f\x00", '"\\u001F\\u0000"'),
        ("😀", '"\\uD83D\\uDE00"'),
        ("键\x7f\u2028/", '"键\x7f\u2028/"'),
    ],
)
def test_quote(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@given(st.text())
def test_reads_back(text: str) -> None:
    assert json.loads(quote(text)) == text
