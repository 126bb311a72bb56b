"""Keys of rows: the raw bytes of the chosen columns, from both decoders' functions."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from replicator.decode.binlog.column_presence import Operation, usual_header
from replicator.decode.native.row_functions import row_functions
from replicator.decode.plan.row_functions import PYTHON, RowFunctions
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.decode.transactions.row_keys import RowKeys
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column, Table
from tests.unit.compiled import both as pair
from tests.unit.decode.snapshot.inserted import inserted

KINDS = {"python": PYTHON, "compiled": row_functions()}
PAIR = Table(
    "shop",
    "pair",
    (
        Column(0, "n", types.LONG, nullable=False),
        Column(1, "t", types.VARCHAR, 50, collation=255),
        Column(2, "v", types.LONG),
    ),
    (0,),
)


@pytest.fixture(params=KINDS)
def functions(request: pytest.FixtureRequest) -> RowFunctions:
    return KINDS[request.param]


def image(n: int, t: bytes | None, v: int | None = 0) -> bytes:
    nulls = 2 * (t is None) + 4 * (v is None)
    text = b"" if t is None else bytes((len(t),)) + t
    return bytes((nulls,)) + struct.pack("<i", n) + text + (b"" if v is None else struct.pack("<i", v))


def keys(
    functions: RowFunctions, columns: tuple[str, ...], operation: Operation, *images: bytes, header: bytes = b""
) -> list[bytes]:
    found = RowKeys(PAIR, columns, functions, accept_partial=bool(header))
    body = b"xx" + (header or usual_header(PAIR, operation)) + b"".join(images)
    return found.of(operation, body, 2, len(body))


def test_of_every_operation(functions: RowFunctions) -> None:
    one, other = image(1, b"a"), image(2, b"a")
    assert keys(functions, ("n",), "insert", one, other) == [b'"01000000",', b'"02000000",']
    assert keys(functions, ("n",), "delete", one, other) == [b'"01000000",', b'"02000000",']
    assert keys(functions, ("n",), "update", one, image(1, b"b"), one, other) == [
        b'"01000000",',
        b'"01000000",',
        b'"02000000",',
    ]


def test_other_keys_have_other_bytes(functions: RowFunctions) -> None:
    """Letters of another case, too, whatever the collation says; NULL is not the empty text."""
    rows = [image(1, text) for text in (b"a", b"A", b"", None, b'","', b"null")]
    found = keys(functions, ("t", "n"), "insert", *rows)
    assert len(set(found)) == len(rows)
    assert keys(functions, ("n", "t"), "insert", rows[0]) != found[:1]


def test_without_columns_every_column_is_the_key(functions: RowFunctions) -> None:
    first, second = keys(functions, (), "insert", image(1, b"a", 1), image(1, b"a", 2))
    assert first != second


def test_a_column_that_the_table_has_not_is_refused(functions: RowFunctions) -> None:
    with pytest.raises(LookupError):
        keys(functions, ("gone",), "insert", image(1, b"a"))


def test_an_image_without_the_key_is_refused_and_without_others_is_not(functions: RowFunctions) -> None:
    only_n = b"\x03\x01\x04"  # before: n; after: v
    images = b"\0" + struct.pack("<i", 7), b"\0" + struct.pack("<i", 9)
    assert keys(functions, ("n",), "update", *images, header=only_n) == [b'"07000000",']
    with pytest.raises(DecodeError, match="E2304"):
        keys(functions, ("t",), "update", *images, header=only_n)


@pytest.mark.parametrize("path", pair.recordings(), ids=lambda path: path.name.partition(".")[0])
def test_columns_of_every_type(path: Path) -> None:
    """What the compiled programs say is what the Python functions say, and a chunk's rows have the stream's keys."""
    for rows in inserted(path):
        body = usual_header(rows.table, "insert") + rows.images.data
        for columns in ((), *((column.name,) for column in rows.table.columns)):
            twin, ours = (
                RowKeys(rows.table, columns, each).of("insert", body, 0, len(body)) for each in KINDS.values()
            )
            chunk = ChunkDecoder(lambda _: lambda table: None, mariadb=rows.table.mariadb).keys(rows.chunk(), columns)
            assert ours == twin == chunk
            assert len(twin) == len(rows.images)
