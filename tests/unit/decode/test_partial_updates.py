"""Partial JSON updates written by hand: every operation and path, and what does not fit."""

import contextlib
import json
import struct
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.decode.binlog import event_types
from replicator.decode.values import json_binary, json_diff, json_tree
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column, Table
from tests.data.binlog import read
from tests.support.present import present
from tests.unit.decode.binlog_writer import Log, decoder, lenenc, records, table_map
from tests.unit.decode.json_writer import Huge, Opaque, write

REPLACE, INSERT, REMOVE = range(3)
TABLE = Table(
    "shop",
    "docs",
    (
        Column(0, "id", types.LONG, nullable=False),
        Column(1, "j", types.JSON, 4),
        Column(2, "v", types.VARCHAR, 40),
        Column(3, "k", types.JSON, 4),
    ),
    (0,),
)
DOCUMENT = {"a": 1, "b": [1, 2, {"c": "x"}], "ü ": None}


def diff(operation, path, *value):
    raw = b"".join(lenenc(len(one)) + one for one in (path.encode(), *map(write, value)))
    return bytes((operation,)) + raw


def applied(document, *diffs):
    return json.loads(json_binary.to_text(json_diff.apply(write(document), b"".join(diffs))))


@pytest.mark.parametrize(
    ("diffs", "after"),
    [
        ([], DOCUMENT),
        ([diff(REPLACE, "$.a", "new")], DOCUMENT | {"a": "new"}),
        ([diff(REPLACE, "$.b[2].c", [1.5])], DOCUMENT | {"b": [1, 2, {"c": [1.5]}]}),
        ([diff(REPLACE, '$."ü "', {})], DOCUMENT | {"ü ": {}}),
        ([diff(INSERT, "$.d", True)], DOCUMENT | {"d": True}),
        ([diff(INSERT, '$."q\\"\\u00e9"', 1)], DOCUMENT | {'q"é': 1}),
        ([diff(INSERT, "$.b[0]", 0)], DOCUMENT | {"b": [0, 1, 2, {"c": "x"}]}),
        ([diff(INSERT, "$.b[9]", 0)], DOCUMENT | {"b": [1, 2, {"c": "x"}, 0]}),
        ([diff(REPLACE, "$.b[last]", 0)], DOCUMENT | {"b": [1, 2, 0]}),
        ([diff(REPLACE, "$.b[last-2]", 0)], DOCUMENT | {"b": [0, 2, {"c": "x"}]}),
        ([diff(REPLACE, "$.b[last].c", 0)], DOCUMENT | {"b": [1, 2, {"c": 0}]}),
        ([diff(REMOVE, "$.b[last-1]"), diff(REMOVE, "$.b[last]")], DOCUMENT | {"b": [1]}),
        ([diff(INSERT, "$.b[last]", 0)], DOCUMENT | {"b": [1, 2, 0, {"c": "x"}]}),
        ([diff(INSERT, "$.b[last-9]", 0)], DOCUMENT | {"b": [0, 1, 2, {"c": "x"}]}),
        ([diff(REMOVE, "$.a"), diff(REMOVE, "$.b[1]")], {"b": [1, {"c": "x"}], "ü ": None}),
        ([diff(REMOVE, "$.b[0]"), diff(INSERT, "$.b[0]", 7)], DOCUMENT | {"b": [7, 2, {"c": "x"}]}),
        ([diff(REPLACE, "$.a", "z" * 70_000)], DOCUMENT | {"a": "z" * 70_000}),
    ],
)
def test_operations(diffs, after):
    assert applied(DOCUMENT, *diffs) == after


@pytest.mark.parametrize(
    "one",
    [
        diff(REPLACE, "$.none", 1),
        diff(REPLACE, "$.b[3]", 1),
        diff(REPLACE, "$.a[0]", 1),
        diff(REPLACE, "$.b.c", 1),
        diff(REPLACE, "$", 1),
        diff(REPLACE, "", 1),
        diff(REPLACE, "a", 1),
        diff(REPLACE, "$.*", 1),
        diff(REPLACE, "$**.a", 1),
        diff(REPLACE, "$.b[last-3]", 1),
        diff(REMOVE, "$.b[last-3]"),
        diff(REPLACE, "$.a[last]", 1),
        diff(REPLACE, "$[last]", 1),
        diff(REPLACE, "$.b[last+1]", 1),
        diff(REPLACE, "$.b[last-]", 1),
        diff(REPLACE, "$.b[0 to last]", 1),
        diff(REPLACE, "$.b[*]", 1),
        diff(REPLACE, '$."a', 1),
        diff(INSERT, "$.a", 1),
        diff(INSERT, "$.a.b", 1),
        diff(REMOVE, "$.none"),
        diff(REMOVE, "$.b[3]"),
        diff(3, "$.a", 1),
        diff(3, "$.b[0]", 1),
        diff(REPLACE, "$.a", 1)[:-1],
        diff(REPLACE, "$.a"),
        diff(REMOVE, "$.a") + b"\0",
    ],
)
def test_changes_that_do_not_fit(one):
    made, raw = decoder(), updated([(DOCUMENT, one)])
    with pytest.raises(DecodeError) as caught:
        for piece in (raw, b""):
            assert records(made.feed(piece)) == []
    assert caught.value.code == "E2302"


def updated(values, *, options=1, bits=None, other=None, present=b"\xff\xff"):
    """An update of shop.docs; values: (document before or None, changes or whole document after) of `j`."""
    rows = b""
    for before, after in values:
        old = write(before) if before is not None else None
        partial = isinstance(after, bytes)
        new = after if partial else write(after)
        flags = bytes((options,)) + (bytes((partial if bits is None else bits,)) if options else b"")
        tail = b"\1v" + (struct.pack("<I", len(other)) + other if other else b"")
        nulls = 8 * (not other)
        image = struct.pack("<i", 1)
        rows += bytes((nulls | 2 * (old is None),)) + image
        rows += (struct.pack("<I", len(old)) + old if old is not None else b"") + tail
        rows += flags + bytes((nulls,)) + image + struct.pack("<I", len(new)) + new + tail
    log = Log().gtid(1).query("BEGIN").add(event_types.TABLE_MAP, mapped())
    return (
        log.add(event_types.PARTIAL_UPDATE_ROWS, (1).to_bytes(6, "little") + b"\1\0\2\0\4" + present + rows).xid().raw
    )


def mapped():
    """With the JSON columns' length bytes, which `table_map` does not write."""
    plain = Table("shop", "docs", tuple(_as_blob(column) for column in TABLE.columns), (0,))
    raw = table_map(plain)
    at = raw.index(bytes((types.LONG, types.BLOB, types.VARCHAR, types.BLOB)))
    return raw[:at] + bytes((types.LONG, types.JSON, types.VARCHAR, types.JSON)) + raw[at + 4 :]


def _as_blob(column):
    kind = types.BLOB if column.type == types.JSON else column.type
    return Column(column.index, column.name, kind, column.meta, column.nullable)


def hexed(document):
    return f'"{write(document).hex()}"'.encode()


def test_rows():
    """Several rows, whole and partial values side by side, a NULL that becomes a document, text behind it."""
    raw = updated([(DOCUMENT, diff(REPLACE, "$.a", 2)), ([1], [2]), (None, {"new": 1}), ([1], diff(REMOVE, "$[0]"))])
    found = [record[2] for record in records(decoder().feed(raw))]
    assert found == [
        b'u["01000000",%s,"76",null]["01000000",%s,"76",null]#%d' % (before, after, number)
        for number, (before, after) in enumerate(
            [
                (hexed(DOCUMENT), hexed(DOCUMENT | {"a": 2})),
                (hexed([1]), hexed([2])),
                (b"null", hexed({"new": 1})),
                (hexed([1]), hexed([])),
            ]
        )
    ]


def test_without_the_option_bit_every_value_is_whole():
    (record,) = records(decoder().feed(updated([([1], {"whole": 1})], options=0)))
    assert hexed({"whole": 1}) in present(record[2])


def test_an_empty_list_of_changes_leaves_the_value():
    (record,) = records(decoder().feed(updated([(DOCUMENT, b"")], other=write("k"))))
    assert present(record[2]).count(hexed(DOCUMENT)) == 2
    assert present(record[2]).count(hexed("k")) == 2


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (updated([(None, diff(REMOVE, "$.a"))]), "E2302"),
        (updated([(DOCUMENT, diff(REMOVE, "$.a"))], options=2), "E2302"),
        (updated([(DOCUMENT, {"a": 1})], bits=1), "E2302"),
        (updated([(DOCUMENT, diff(REMOVE, "$.a"))], present=b"\xf1\xff"), "E2304"),
        (updated([(DOCUMENT, diff(REMOVE, "$.a"))], present=b"\xff\xfd"), "E2304"),
    ],
)
def test_what_can_not_be_made_whole(raw, code):
    made = decoder()
    with pytest.raises(DecodeError) as caught:
        for piece in (raw, b""):
            assert records(made.feed(piece)) == []
    assert caught.value.code == code
    assert "shop.docs" in str(caught.value)


def partial_image(diffs, *, before, after):
    """An update of shop.docs with only `id` and maybe `j` before; after: `j` changed, `v` NULL, `k` whole."""
    old, new = write([1, 2]), write({"k": 1})
    row = b"\0" + struct.pack("<i", 1) + (struct.pack("<I", len(old)) + old if before & 2 else b"")
    row += b"\1\1" + b"\2" + b"".join(struct.pack("<I", len(value)) + value for value in (diffs, new))
    log = Log().gtid(1).query("BEGIN").add(event_types.TABLE_MAP, mapped())
    head = (1).to_bytes(6, "little") + b"\1\0\2\0\4" + bytes((before, after))
    return log.add(event_types.PARTIAL_UPDATE_ROWS, head + row).xid().raw


def test_images_without_some_columns():
    made = decoder(row_image="accept_partial")
    (record,) = records(made.feed(partial_image(diff(REPLACE, "$[0]", 7), before=0b0011, after=0b1110)))
    old, new = hexed([1, 2]), hexed([7, 2])
    assert record[2] == b'u["01000000",%s,null,null]["01000000",%s,null,%s]#0' % (old, new, hexed({"k": 1}))


def test_changes_without_the_document_before():
    made = decoder(row_image="accept_partial")
    with pytest.raises(DecodeError, match=r"E2304 .*shop\.docs has changes to a JSON document.*no 'j'"):
        made.feed(partial_image(diff(REPLACE, "$[0]", 7), before=0b0001, after=0b1110))


def test_other_tables_are_passed_over():
    raw = updated([(None, diff(REMOVE, "$.a"))])
    assert decoder(planner=lambda table: None).feed(raw)[0].transactions == 1


def test_what_was_recorded():
    (*_, last) = records(decoder().feed(read("mysql_partial")))
    before, _, after = present(last[2]).rpartition(b"[")
    old, new = (bytes.fromhex(part.split(b'"')[3].decode()) for part in (before.rpartition(b"u")[2], after))
    assert json.loads(json_binary.to_text(new)) == json.loads(json_binary.to_text(old)) | {"b": 2}


leaf = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.integers(-40_000, 70_000),
    st.integers(0, 5).map(Huge),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=10),
    st.binary(max_size=10).map(lambda raw: Opaque(types.LONG_BLOB, raw)),
)
documents = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


@given(documents, st.booleans())
def test_a_tree_is_the_document(document, large):
    raw = write(document, large=large)
    again = json_tree.write(json_tree.parse(raw))
    assert json_tree.parse(again) == json_tree.parse(raw)
    if not isinstance(document, (list, dict)):
        assert again == raw
    assert json_tree.write(json_tree.parse(again)) == again


@given(st.lists(st.integers(0, 255), max_size=60))
def test_garbage_is_no_tree_or_a_small_one(raw):
    with contextlib.suppress(ValueError, IndexError):
        assert len(json_tree.write(json_tree.parse(bytes(raw)))) <= 8 * len(raw) + 16


def test_values_that_share_their_bytes_are_refused():
    """An array of arrays whose entries all lead to one value stands for more than it is long."""
    text = b"\x7f" + b"y" * 127
    count = 40
    size = 4 + 3 * count + len(text)
    entry = b"\x0c" + struct.pack("<H", 4 + 3 * count)
    raw = b"\2" + struct.pack("<HH", count, size) + entry * count + text
    with pytest.raises(ValueError, match="share"):
        json_tree.parse(raw)


@settings(max_examples=400, deadline=2000)
@given(st.data())
def test_damage(data):
    raw = bytearray(updated([(DOCUMENT, diff(REPLACE, "$.a", 2)), ([1], [2]), ([1], diff(INSERT, "$[1]", {}))]))
    sum_at = len(raw) - 4 - 31  # of the rows event, before the XID event
    start = raw.index(b"\1\0\2\0\4\xff\xff")
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(start, sum_at))] = data.draw(st.integers(0, 255))
    stream = unchecked(bytes(raw))
    made = decoder()
    try:
        made.feed(stream)
        made.feed(b"")
    except DecodeError as error:
        assert error.code in ("E2301", "E2302", "E2304")


def unchecked(raw):
    """The same with checksums that fit."""
    out, at = [], 0
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at + 9)[0]
        body = raw[at : at + size - 4]
        out.append(body + struct.pack("<I", crc32(body)))
        at += size
    return b"".join(out)
