"""The compiled transcoder of a snapshot's rows gives the row images of its Python twin, however the bytes arrive."""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.model import types
from replicator.mysql.row_images import json_document
from replicator.mysql.row_images.compiled_rows import CompiledRows
from replicator.mysql.row_images.row_image import RowImages
from replicator.mysql.table_key import Bounds, Key
from replicator.mysql.table_shape import BINARY, ColumnShape, TableShape

pytestmark = pytest.mark.skipif(not compiled.available(), reason=compiled.why_not())

PACKET = 0xFFFFFF
EOF = b"\xfe\0\0\x02\0"
MOST = 1 << 20


def column(kind: int, meta: int = 0, **more: Any) -> ColumnShape:
    return ColumnShape(f"c{kind}", kind, meta, True, "", **more)


def sized(raw: bytes) -> bytes:
    if len(raw) < 251:
        return bytes((len(raw),)) + raw
    if len(raw) < 1 << 16:
        return b"\xfc" + struct.pack("<H", len(raw)) + raw
    if len(raw) < 1 << 24:
        return b"\xfd" + len(raw).to_bytes(3, "little") + raw
    return b"\xfe" + struct.pack("<Q", len(raw)) + raw


def fixed(width: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=width, max_size=width)


def decimals(precision: int, scale: int) -> st.SearchStrategy[bytes]:
    whole, sign = precision - scale, st.sampled_from(["", "-"])

    def text(sign: str, number: int) -> bytes:
        digits = str(number).rjust(precision, "0")
        front = digits[:whole].lstrip("0") or "0"
        return sized(f"{sign}{front}{'.' if scale else ''}{digits[whole:]}".encode())

    return st.builds(text, sign, st.integers(0, 10**precision - 1))


@st.composite
def moments(draw: st.DrawFn, first: int = 0, last: int = 9999) -> bytes:
    """Of the years `first` to `last`."""
    length = draw(st.sampled_from([0, 4, 7, 11]))
    year, month, day = (draw(st.integers(*limits)) for limits in ((first, last), (1, 12), (1, 28)))
    clock = [draw(st.integers(0, 59)) for _ in range(2)]
    micro = draw(st.integers(0, 999999))
    return sized(struct.pack("<HBBBBBI", year, month, day, draw(st.integers(0, 23)), *clock, micro)[:length])


@st.composite
def times(draw: st.DrawFn) -> bytes:
    length = draw(st.sampled_from([0, 8, 12]))
    numbers = [draw(st.integers(*limits)) for limits in ((0, 1), (0, 34), (0, 23), (0, 59), (0, 59), (0, 999999))]
    return sized(struct.pack("<BIBBBI", *numbers)[:length])


def texts(most: int) -> st.SearchStrategy[bytes]:
    return st.binary(max_size=most).map(sized)


DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.integers(-70000, 70000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["x" * 200, "y" * 17000, "", '"', "\\", "\n\t\x01"]),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
    max_leaves=20,
)


def document(value: object) -> bytes:
    """As MySQL writes it: characters as they are."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


KINDS: list[tuple[ColumnShape, int, st.SearchStrategy[bytes]]] = [
    (column(types.TINY), types.TINY, fixed(1)),
    (column(types.SHORT), types.SHORT, fixed(2)),
    (column(types.INT24), types.INT24, fixed(4)),
    (column(types.LONG), types.LONG, fixed(4)),
    (column(types.LONGLONG), types.LONGLONG, fixed(8)),
    (column(types.FLOAT, 4), types.FLOAT, fixed(4)),
    (column(types.DOUBLE, 8), types.DOUBLE, fixed(8)),
    (column(types.YEAR), types.YEAR, st.sampled_from([0, 1901, 2155]).map(lambda year: struct.pack("<H", year))),
    (column(types.ENUM, 1), types.LONGLONG, fixed(8)),
    (column(types.SET, 8), types.LONGLONG, fixed(8)),
    (column(types.SET, 3), types.LONG, fixed(4)),
    (column(types.NEWDECIMAL, 10 << 8 | 2), types.NEWDECIMAL, decimals(10, 2)),
    (column(types.NEWDECIMAL, 65 << 8 | 30), types.NEWDECIMAL, decimals(65, 30)),
    (column(types.NEWDECIMAL, 5 << 8 | 5), types.NEWDECIMAL, decimals(5, 5)),
    (column(types.NEWDECIMAL, 18 << 8), types.NEWDECIMAL, decimals(18, 0)),
    (column(types.DATE), types.DATE, moments()),
    *((column(types.DATETIME2, digits), types.DATETIME, moments()) for digits in range(7)),
    *((column(types.TIMESTAMP2, digits), types.TIMESTAMP, moments(1970, 2105)) for digits in range(7)),
    *((column(types.TIME2, digits), types.TIME, times()) for digits in range(7)),
    (column(types.BIT, 4 << 8 | 1), types.BIT, texts(5)),
    (column(types.VARCHAR, 200, collation=45), types.VAR_STRING, texts(200)),
    (column(types.VARCHAR, 4000, collation=45), types.VAR_STRING, texts(1000)),
    (column(types.STRING, 40, collation=45), types.STRING, st.sampled_from([b"", b"a ", b"  ", b"a b"]).map(sized)),
    (column(types.STRING, 600, collation=BINARY), types.STRING, st.sampled_from([b"a\0", b" \0 \0"]).map(sized)),
    *((column(types.BLOB, size), types.BLOB, texts(255)) for size in (1, 2, 3, 4)),
    (column(types.GEOMETRY, 4), types.GEOMETRY, texts(30)),
    (column(types.JSON, 4), types.JSON, DOCUMENTS.map(document).map(sized)),
]


def packets(payload: bytes, full: int = PACKET) -> bytes:
    out, at = b"", 0
    while True:
        piece = payload[at : at + full]
        out += len(piece).to_bytes(3, "little") + b"\x07" + piece
        at += len(piece)
        if len(piece) < full:
            return out


def row(values: Sequence[bytes | None]) -> bytes:
    nulls = sum(1 << index + 2 for index, value in enumerate(values) if value is None)
    head = b"\0" + nulls.to_bytes((len(values) + 9) // 8, "little")
    return head + b"".join(value for value in values if value is not None)


class Sent:
    """An answer that arrives in pieces."""

    def __init__(self, kinds: Sequence[int], data: bytes, pieces: Sequence[int] = ()) -> None:
        self.types = list(kinds)
        self.data, self.at, self.closed = data, 0, False
        self.pieces = list(pieces)

    def receive_into(self, view: memoryview) -> int:
        piece = self.pieces.pop(0) if self.pieces else MOST
        part = self.data[self.at : self.at + min(piece, len(view))]
        assert part, "nothing is left to be read"
        view[: len(part)] = part
        self.at += len(part)
        return len(part)

    def close(self) -> None:
        self.closed = True

    def failed(self, payload: bytes) -> Exception:
        return OSError(payload)


def rows_of(
    sent: Sent, columns: Sequence[ColumnShape], key: Key | None = None, *, mariadb: bool = False
) -> CompiledRows:
    return CompiledRows(sent, TableShape("d", "t", tuple(columns)), key, mariadb=mariadb)  # type: ignore[arg-type]


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[ColumnShape], list[int], list[bytes], Key | None]:
    chosen = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=20))
    places = draw(st.permutations(range(len(chosen))))[: draw(st.integers(0, 3))]
    rows = []
    for _ in range(draw(st.integers(0, 5))):
        values = [draw(value if at in places else st.none() | value) for at, (_, _, value) in enumerate(chosen)]
        rows.append(row(values))
    key = Key("PRIMARY", tuple(places)) if places else None
    return [column for column, _, _ in chosen], [kind for _, kind, _ in chosen], rows, key


@settings(max_examples=400, deadline=None)
@given(answers(), st.lists(st.integers(1, 400), max_size=60), st.booleans(), st.integers(1, 7))
def test_images_are_those_of_the_twin(
    answer: tuple[list[ColumnShape], list[int], list[bytes], Key | None], pieces: list[int], mariadb: bool, most: int
) -> None:
    columns, kinds, rows, key = answer
    twin = RowImages(columns, kinds, mariadb=mariadb)
    wanted = [twin.image(packet) for packet in rows]
    sent = Sent(kinds, b"".join(map(packets, [*rows, EOF])), pieces)
    made = rows_of(sent, columns, key, mariadb=mariadb)
    found = []
    while True:
        data, ends, values = made.take(most, MOST)
        assert isinstance(ends, array)
        part = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        found += part
        if key is not None and part:
            assert values == Bounds(TableShape("d", "t", tuple(columns)), key, kinds).values(rows[len(found) - 1])
        assert len(part) == most or made.ended
        if made.ended:
            break
    assert found == wanted
    assert sent.closed
    assert made.take(most, MOST) == (b"", array("q"), ())


@settings(max_examples=500, deadline=None)
@given(DOCUMENTS)
@example([[1.5, 100.0, 0.0001, 0.00001, -0.5, 1e300, 123456789012345.5, -0.0]])
@example({"a": ["x" * 70000, 70000, -40000, 40000, True], "b": {}, "c": [], "d": -1})
@example([1] * 70000)
@example([[[["x" * 65000]]], "y" * 500])
def test_documents_are_those_of_the_twin(value: object) -> None:
    raw = document(value)
    made = rows_of(Sent([types.JSON], packets(row([sized(raw)])) + packets(EOF)), [column(types.JSON, 4)])
    data, _, _ = made.take(1, MOST)
    assert data[5:] == json_document.encode(raw)


@pytest.mark.parametrize(
    "text", [b'{"a": 1.50}', b"[12345678901234567890123.5]", b'"\\u00e9"', b" [1 ,2 ] ", b"-0", b"99999999999999999999"]
)
def test_rare_documents_are_those_of_the_twin(text: bytes) -> None:
    made = rows_of(Sent([types.JSON], packets(row([sized(text)])) + packets(EOF)), [column(types.JSON, 4)])
    data, _, _ = made.take(1, MOST)
    assert data[5:] == json_document.encode(text)


@pytest.mark.parametrize("text", [b"", b"{", b'{"a"}', b"[1,]", b"nul", b'"abc', b"[1] x", b'{"a": }'])
def test_what_is_no_document_is_refused(text: bytes) -> None:
    made = rows_of(Sent([types.JSON], packets(row([sized(text)])) + packets(EOF)), [column(types.JSON, 4)])
    with pytest.raises(ValueError, match="a JSON document"):
        made.take(1, MOST)


@pytest.mark.parametrize("size", [PACKET - 9, PACKET - 8, PACKET - 7, PACKET, 2 * PACKET, 40 << 20])
@pytest.mark.parametrize("kind", [types.BLOB, types.JSON])
def test_rows_of_several_packets(size: int, kind: int) -> None:
    columns, kinds = [column(types.LONG), column(kind, 4), column(types.LONG)], [types.LONG, kind, types.LONG]
    value = b'"' + b"v" * (size - 2) + b'"'
    payload = row([b"\1\2\3\4", sized(value), b"\5\6\7\x08"])
    small = row([b"\1\2\3\4", sized(b'"b"'), b"\5\6\7\x08"])
    made = rows_of(Sent(kinds, b"".join(map(packets, [small, payload, small, EOF])), [70000] * 3), columns)
    twin = RowImages(columns, kinds, mariadb=False)
    assert made.take(10, 1 << 40)[0] == twin.image(small), "a long row begins another part"
    data, ends, _ = made.take(10, 1 << 40)
    wanted = [twin.image(payload) for payload in (payload, small)]
    assert [data[start:end] == image for start, end, image in zip([0, *ends], ends, wanted, strict=False)] == [True] * 2
    assert made.ended


def test_takes_end_with_enough_bytes() -> None:
    payload = row([sized(b"x" * 200)])
    made = rows_of(Sent([types.BLOB], packets(payload) * 10 + packets(EOF)), [column(types.BLOB, 4)])
    assert [len(made.take(100, 500)[1]) for _ in range(4)] == [3, 3, 3, 1]
    assert made.ended


def test_an_error_of_the_server_is_raised() -> None:
    payload = row([sized(b"x")])
    made = rows_of(Sent([types.BLOB], packets(payload) + packets(b"\xff\x25\x05#HY000gone")), [column(types.BLOB, 4)])
    with pytest.raises(OSError, match="gone"):
        made.take(1, MOST)


@settings(max_examples=300, deadline=None)
@given(answers(), st.data())
def test_damage_is_refused_or_is_another_row(
    answer: tuple[list[ColumnShape], list[int], list[bytes], Key | None], data: st.DataObject
) -> None:
    columns, kinds, rows, key = answer
    raw = bytearray(b"".join(map(packets, rows)))
    for _ in range(data.draw(st.integers(0, 4))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        made = rows_of(Sent(kinds, bytes(raw) + packets(EOF)), columns, key)
        while not made.ended:
            made.take(2, MOST)
    except (ValueError, OSError, AssertionError):
        pass
