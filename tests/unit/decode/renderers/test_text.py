from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import DecodeError
from replicator.model import types
from tests.unit.decode.renderers.column import render

UTF8MB4, LATIN1, GBK, UTF16, BINARY = 255, 8, 28, 54, 63


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", '""'),
        ("plain <&> / '", '"plain <&> / \'"'),
        ('a "quote" and \\', '"a \\"quote\\" and \\\\"'),
        ("\b\t\n\f\r", '"\\b\\t\\n\\f\\r"'),
        ("\x00\x01\x1a\x1f", '"\\u0000\\u0001\\u001A\\u001F"'),
        ("\x7f\u2028\u2029\ufeff\uffff", '"\x7f\u2028\u2029\ufeff\uffff"'),
        ("Grüße 日本語", '"Grüße 日本語"'),
        ("😀𝄞 x", '"\\uD83D\\uDE00\\uD834\\uDD1E x"'),
        ("\U00010000\U0010ffff", '"\\uD800\\uDC00\\uDBFF\\uDFFF"'),
    ],
)
def test_escapes_as_jackson_does(value: str, text: str) -> None:
    assert render("text", value.encode(), types.VARCHAR, collation=UTF8MB4) == text.encode()


@given(st.text())
def test_any_text_reads_back(value: str) -> None:
    assert json.loads(render("text", value.encode(), types.BLOB, collation=UTF8MB4)) == value


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])))
def test_other_character_sets_become_utf8(value: str) -> None:
    raw = value.encode("utf-16-be")
    assert json.loads(render("text", raw, types.VARCHAR, collation=UTF16)) == value


@pytest.mark.parametrize(
    ("collation", "raw", "text"),
    [
        (LATIN1, b"Gr\xfc\xdfe \x80", "Grüße €"),
        (LATIN1, b'"\n', '"\n'),
        (LATIN1, b"\x81\xff", "\x81ÿ"),
        (GBK, "中文".encode("gbk"), "中文"),
        (UTF8MB4, b"bad \xff\xfe!", "bad \ufffd\ufffd!"),
        (UTF16, b"\x03\xa9\xd8\x3d\xde\x00", "Ω😀"),
        (10, b"}{|", "åäö"),  # swe7, where ASCII is not ASCII
    ],
)
def test_character_sets(collation: int, raw: bytes, text: str) -> None:
    assert json.loads(render("text", raw, types.STRING, meta=40, collation=collation)) == text


def test_a_text_column_without_collation_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"E2306.*d\.t\.c.*binlog_row_metadata"):
        render("text", b"x", types.VARCHAR)


def test_an_unknown_collation_is_refused_by_id() -> None:
    with pytest.raises(DecodeError, match=r"E2307.*9999"):
        render("text", b"x", types.VARCHAR, collation=9999)


def test_binary_gets_its_trailing_zeros_back() -> None:
    assert render("base64", b"\x01", types.STRING, meta=5, collation=BINARY) == b'"AQAAAAA="'
    assert render("base64", b"", types.STRING, meta=1, collation=BINARY) == b'"AA=="'
    assert render("base64", b"", types.VARCHAR, meta=5, collation=BINARY) == b'""'


@given(st.binary())
def test_bytes_read_back(raw: bytes) -> None:
    assert base64.b64decode(json.loads(render("base64", raw, types.BLOB, collation=BINARY))) == raw


MEMBERS = ("a", "with,comma", "quo'te", 'q"', "ünï😀")


@pytest.mark.parametrize(("index", "text"), [(0, ""), *enumerate(MEMBERS, 1)])
@pytest.mark.parametrize("size", [1, 2])
def test_enum(index: int, text: str, size: int) -> None:
    raw = index.to_bytes(size, "little")
    assert json.loads(render("enum", raw, types.ENUM, meta=size, members=MEMBERS)) == text


def test_an_index_beyond_the_members_stops() -> None:
    with pytest.raises(DecodeError, match=r"E2302.*d\.t\.c has the value 6.*ENUM"):
        render("enum", b"\x06", types.ENUM, meta=1, members=MEMBERS)
    with pytest.raises(DecodeError, match=r"E2302.*d\.t\.c has the value 32.*SET"):
        render("set", b"\x20", types.SET, meta=1, members=MEMBERS)


@pytest.mark.parametrize("count", [1, 8, 9, 16, 17, 24, 25, 32, 33, 63, 64])
@given(data=st.data())
def test_set(count: int, data: st.DataObject) -> None:
    size = next(size for size in (1, 2, 3, 4, 8) if count <= 8 * size)
    names = tuple(f"m{i}" for i in range(count))
    chosen = data.draw(st.sets(st.integers(0, count - 1)))
    raw = sum(1 << place for place in chosen).to_bytes(size, "little")
    text = json.loads(render("set", raw, types.SET, meta=size, members=names))
    assert text == ",".join(names[place] for place in sorted(chosen))
