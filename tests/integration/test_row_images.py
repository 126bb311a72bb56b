"""Records for a database target have the bytes that a real server has logged, for every type, by both decoders."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dev.servers import Database, MariaDB
from replicator import compiled
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.encode.row_images import RowImages
from replicator.errors import SourceError
from replicator.model.batch import Record
from replicator.model.position import Position
from replicator.model.target_table import STATEMENT, UNCHECKED, TargetTables
from tests.support.decoded import files, new_file
from tests.support.script import run, statements

ZOO = Path(__file__).parent.parent / "support" / "type_zoo.sql"
_TABLE_MAP = 19
_ROWS = {kind: (kind - first, first < 30) for first in (23, 30) for kind in range(first, first + 3)}
"""Type of event -> (0 insert, 1 update, 2 delete; of version 1)."""
_CHANGES = ("UPDATE {} SET id = id + 1000", "UPDATE {} SET id = id + 1000 WHERE id > 1001", "DELETE FROM {}")


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


def read(server: Database, since: str) -> list[tuple[str, bytes]]:
    """(name, contents without the magic) of the files from one on."""
    server.execute("FLUSH BINARY LOGS")
    ((folder,),) = server.execute("SELECT @@datadir")
    names = files(server)
    return [(name, (Path(str(folder)) / name).read_bytes()[4:]) for name in names[names.index(since) :]]


def logged(raw: bytes) -> Iterator[tuple[str, str, bytes]]:
    """(database.table, operation, images) of the row events of a file. Independent of the decoder."""
    maps: dict[bytes, tuple[str, int]] = {}
    at = 0
    while at < len(raw):
        kind, size = raw[at + 4], struct.unpack_from("<I", raw, at + 9)[0]
        body = raw[at + 19 : at + size - 4]
        at += size
        if kind == _TABLE_MAP:
            database = body[9 : 9 + body[8]].decode()
            place = 9 + body[8] + 1
            table = body[place + 1 : place + 1 + body[place]].decode()
            maps[body[:6]] = f"{database}.{table}", body[place + body[place] + 2]
        elif kind in _ROWS:
            operation, old = _ROWS[kind]
            name, columns = maps[body[:6]]
            place = 8 if old else 8 + struct.unpack_from("<H", body, 8)[0]
            assert body[place] == columns < 251
            rows = body[place + 1 + (columns + 7) // 8 * (2 if operation == 1 else 1) :]
            yield name, "IUD"[operation], rows


def made(kind: type[BinlogDecoder], flavor: Any, contents: list[tuple[str, bytes]], database: str) -> list[Record]:
    form = RowImages(TargetTables())
    decoder = kind(
        lambda table: form.plan(table, table.qualified) if table.database == database else None,
        position=Position(contents[0][0], 4),
        flavor=flavor,
        framing="file",
        server_error=lambda errno, state, text: SourceError("E2211", text),
    )
    found: list[Record] = []
    for _, raw in contents:
        for batch in [*decoder.feed(raw), *decoder.feed(b"")]:
            found += batch.records
    return found


def images(record: Record) -> tuple[str, str, bytes]:
    value = (record[2] or b"").removeprefix(UNCHECKED)
    start = 5 if value[:1] == b"U" else 1
    return record[0].partition("#")[0], value[:1].decode(), value[start:]


def joined(rows: Iterator[tuple[str, str, bytes]] | list[tuple[str, str, bytes]]) -> list[tuple[str, str, bytes]]:
    """Neighbours of one table and operation made one."""
    found: list[tuple[str, str, bytes]] = []
    for name, operation, raw in rows:
        if found and found[-1][:2] == (name, operation):
            found[-1] = (name, operation, found[-1][2] + raw)
        else:
            found.append((name, operation, raw))
    return found


@pytest.mark.parametrize("kind", [BinlogDecoder, CompiledDecoder], ids=["python", "compiled"])
def test_the_images_are_those_of_the_log(
    server: Database, request: pytest.FixtureRequest, kind: type[BinlogDecoder]
) -> None:
    if kind is CompiledDecoder and not compiled.available():
        pytest.skip(compiled.why_not())
    mariadb = isinstance(server, MariaDB)
    database = str(request.getfixturevalue("mariadb_database" if mariadb else "database"))
    flavor = "mariadb" if mariadb else "mysql"
    since = new_file(server)
    run(server, statements(ZOO, only={"both", "json", flavor, "beyond_both", f"beyond_{flavor}"}), database=database)
    tables = [str(name) for (name,) in server.execute(f"SHOW TABLES FROM {database}")]
    run(server, (change.format(name) for name in tables for change in _CHANGES), database=database)
    contents = read(server, since)
    truth = joined([row for _, raw in contents for row in logged(raw) if row[0].startswith(f"{database}.")])
    assert len(truth) > 3 * len(tables) - 5 > 50
    ours = joined([images(record) for record in made(kind, flavor, contents, database) if record[0] != STATEMENT])
    assert [row[:2] for row in ours] == [row[:2] for row in truth]
    assert [one[0] for one, other in zip(ours, truth, strict=True) if one != other] == []


@pytest.mark.parametrize("kind", [BinlogDecoder, CompiledDecoder], ids=["python", "compiled"])
def test_rows_of_sessions_without_foreign_key_checks_are_marked(
    server: Database, request: pytest.FixtureRequest, kind: type[BinlogDecoder]
) -> None:
    """Event by event, also where both kinds are in one transaction."""
    if kind is CompiledDecoder and not compiled.available():
        pytest.skip(compiled.why_not())
    mariadb = isinstance(server, MariaDB)
    database = str(request.getfixturevalue("mariadb_database" if mariadb else "database"))
    since = new_file(server)
    script = (
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "BEGIN",
        "INSERT INTO t VALUES (1), (2)",
        "SET foreign_key_checks = 0",
        "INSERT INTO t VALUES (3), (4)",
        "UPDATE t SET id = 5 WHERE id = 1",
        "SET foreign_key_checks = 1, unique_checks = 0",
        "DELETE FROM t WHERE id = 5",
        "COMMIT",
    )
    run(server, iter(script), database=database)
    found = made(kind, "mariadb" if mariadb else "mysql", read(server, since), database)
    marked = [b"I", b"I", b"FI", b"FI", b"FU", b"D"]
    if not mariadb:  # MySQL logs what foreign keys cascade to, and says so in each event
        marked = [b"FI", b"FI", b"FI", b"FI", b"FU", b"FD"]
    assert [(record[2] or b"")[:2].rstrip(b"\0\xfe\xff\x04") for record in found] == marked
