"""MariaDB's compressed events and values, whole and damaged."""

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.decode.binlog import event_types, mariadb_compression
from replicator.decode.binlog.transaction_payload import LONGEST
from replicator.errors import DecodeError
from replicator.model import types
from tests.data.binlog import read
from tests.support.present import present
from tests.unit.decode.binlog_writer import IDS, Log, decoder, records, zip_part
from tests.unit.decode.renderers.column import render

GTID = struct.pack("<QIB6x", 1, 0, 0)


def log(kind, rows, *, images=1, extra=b""):
    head = (1).to_bytes(6, "little") + b"\1\0" + extra + b"\1" + b"\xff" * images
    return Log().add(event_types.MARIADB_GTID, GTID).map(IDS).add(kind, head + rows).xid()


def value(raw, *, wrap=True, width=None):
    width = width or max(1, (len(raw).bit_length() + 7) // 8)
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS if wrap else -zlib.MAX_WBITS)
    head = bytes((0x80 | width | (0 if wrap else 8),)) + len(raw).to_bytes(width, "big")
    return head + packer.compress(raw) + packer.flush()


def row(number):
    return b"\0" + struct.pack("<i", number)


@pytest.mark.parametrize(("first", "extra"), [(166, b""), (169, b"\2\0"), (169, b"\4\0??")])
def test_rows_of_each_operation(first, extra):
    insert, update, delete = (
        records(decoder(flavor="mariadb").feed(log(first + n, zip_part(rows), images=images, extra=extra).raw))
        for n, rows, images in ((0, row(1) + row(2), 1), (1, row(1) + row(1), 2), (2, row(2), 1))
    )
    plain = Log().add(event_types.MARIADB_GTID, GTID).map(IDS).rows(event_types.WRITE_ROWS_V1, 1, row(1) + row(2)).xid()
    assert [r[:5] for r in insert] == [r[:5] for r in records(decoder(flavor="mariadb").feed(plain.raw))]
    assert [r[2] for r in update] == [b'u["01000000"]["01000000"]#0']
    assert [r[2] for r in delete] == [b'["02000000"]', None]


def test_rows_of_other_tables_are_not_decompressed():
    stream = log(166, b"anything")
    assert decoder(flavor="mariadb", planner=lambda table: None).feed(stream.raw)[0].transactions == 1


@pytest.mark.parametrize(
    "rows",
    [
        b"",
        b"\0" + zlib.compress(row(1)),
        zip_part(row(1))[:-1],
        zip_part(row(1)) + b"?",
        b"\x81\4" + zlib.compress(row(1)),
        b"\x81\6" + zlib.compress(row(1)),
        b"\x80" + zlib.compress(row(1)),
        b"\x85" + (5).to_bytes(5, "big") + zlib.compress(row(1)),
        b"\x84" + (LONGEST + 1).to_bytes(4, "big") + zlib.compress(row(1)),
        b"\x91\5" + zlib.compress(row(1)),
        zip_part(row(1)[:-1]),
    ],
)
def test_damaged_rows(rows):
    made = decoder(flavor="mariadb")
    with pytest.raises(DecodeError, match="E2302"):
        for _ in range(2):
            assert records(made.feed(log(166, rows).raw)) == []


def test_what_was_recorded():
    """A row and a text of 2,000 characters."""
    made = decoder(flavor="mariadb")
    (record,) = records(made.feed(read("mariadb_compressed")))
    assert (b"61" * 2000) in present(record[2])
    (record,) = records(decoder(flavor="mariadb").feed(read("mariadb_columns")))
    assert record[2] == b'["01000000","0061","0062"]'


@pytest.mark.parametrize("type_", sorted(types.COMPRESSED))
@pytest.mark.parametrize("raw", [b"", b"a", b"x" * 70_000, "Grüße 😀".encode() * 100])
@pytest.mark.parametrize("wrap", [True, False])
def test_values(type_, raw, wrap):
    stored = [b"\0" + raw, value(raw, wrap=wrap), value(raw, wrap=wrap, width=4)] if raw else [b""]
    for one in stored:
        assert mariadb_compression.value(one) == raw
        assert render("text", one, type_, collation=45) == render("text", raw, types.BLOB, collation=45)
        assert render("base64", one, type_, collation=63) == render("base64", raw, types.BLOB, collation=63)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x10abc",
        b"\x81",
        value(b"abc")[:-1],
        value(b"abc") + b"?",
        value(b"abc", wrap=False)[:-1],
        b"\x81\2" + value(b"abc")[2:],
        b"\x89\3" + value(b"abc")[2:],
        b"\x84\xff\xff\xff\xff" + zlib.compress(b"abc"),
    ],
)
def test_damaged_values(raw):
    with pytest.raises(DecodeError, match="E2302"):
        mariadb_compression.value(raw)


@settings(max_examples=300)
@given(st.binary(max_size=60), st.data())
def test_a_damaged_value_is_an_error_or_as_long_as_it_states(raw, data):
    stored = bytearray(value(raw, wrap=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 3))):
        stored[data.draw(st.integers(0, len(stored) - 1))] = data.draw(st.integers(0, 255))
    try:
        mariadb_compression.value(bytes(stored))
    except DecodeError as error:
        assert error.code == "E2302"


@settings(max_examples=300, deadline=2000)
@given(st.binary(max_size=40))
def test_garbage(rows):
    for kind in range(event_types.MARIADB_QUERY_COMPRESSED, event_types.MARIADB_DELETE_ROWS_COMPRESSED + 1):
        made = decoder(flavor="mariadb")
        try:
            for _ in range(2):
                made.feed(log(kind, rows).raw)
        except DecodeError as error:
            assert error.code in ("E2301", "E2302", "E2303", "E2304")
