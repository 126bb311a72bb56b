"""Rows that a snapshot selects are the bytes that the server itself has written into its binlog."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from dev.servers import Database, MariaDB, MySQL
from replicator import compiled
from replicator.config.task import MySQLSource
from replicator.decode.binlog import table_map as parser
from replicator.decode.renderers.canal_json import SPACED
from replicator.decode.values import json_binary
from replicator.mysql import prepared, table_map, table_shape
from replicator.mysql.row_images.compiled_rows import CompiledRows
from replicator.mysql.row_images.packet_rows import PacketRows
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from tests.support.decoded import files, new_file
from tests.support.script import run, statements

ZOO = Path(__file__).parent.parent / "support" / "type_zoo.sql"
SETTINGS = "SET SESSION time_zone = '+00:00', sql_mode = '', character_set_results = NULL"
OLD_TYPES = {"old_times"}
"""Their columns have types of before fractions of a second, which a snapshot writes as those of today."""
TYPED_DOCUMENTS = {"temporal_documents", "long_times"}
"""Their documents have dates, times, DECIMALs and bytes: the text that is selected says less than the log."""
SMALL = "-0.0001"
"""A DECIMAL that is taken for the DOUBLE that has the same text, and which formats print in another notation."""
NOTATIONS = (json_binary.COMPACT, SPACED)
_TABLE_MAP, _WRITE_ROWS, _WRITE_ROWS_V1 = 19, 30, 23


def logged(server: Database, since: str) -> dict[str, tuple[bytes, list[bytes]]]:
    """Table -> (body of its table map behind the table id, images of its inserted rows, joined by event)."""
    server.execute("FLUSH BINARY LOGS")
    ((folder,),) = server.execute("SELECT @@datadir")
    found: dict[str, tuple[bytes, list[bytes]]] = {}
    names = files(server)
    maps: dict[bytes, tuple[str, bytes]] = {}
    for name in names[names.index(since) :]:
        raw, at = (Path(str(folder)) / name).read_bytes(), 4
        while at < len(raw):
            kind, size = raw[at + 4], struct.unpack_from("<I", raw, at + 9)[0]
            body = raw[at + 19 : at + size - 4]
            if kind == _TABLE_MAP:
                length = body[8]
                table = body[10 + length + 1 : 10 + length + 1 + body[10 + length]].decode()
                maps[body[:6]] = (table, body[6:])
            elif kind in (_WRITE_ROWS, _WRITE_ROWS_V1):
                table, described = maps[body[:6]]
                place = 8 + (struct.unpack_from("<H", body, 8)[0] if kind == _WRITE_ROWS else 0)
                columns = body[place]
                rows = body[place + 1 + (columns + 7) // 8 :]
                found.setdefault(table, (described, []))[1].append(rows)
            at += size
    return found


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Database:
    server = request.getfixturevalue(request.param)
    assert isinstance(server, (MySQL, MariaDB))
    return server


def rows_of(answer: prepared.Answer, table: table_shape.TableShape, *, mariadb: bool, in_c: bool) -> list[bytes]:
    made = (CompiledRows if in_c else PacketRows)(answer, table, None, mariadb=mariadb)
    found: list[bytes] = []
    while not made.ended:
        data, ends, _ = made.take(7, 1 << 30)
        found += [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return found


def documents(images: bytes) -> list[tuple[str, ...]]:
    """Of rows of an INT and a JSON column: as each format prints the document."""
    found, at = [], 0
    while at < len(images):
        size = int.from_bytes(images[at + 5 : at + 9], "little")
        raw = images[at + 9 : at + 9 + size]
        found.append(tuple(json_binary.to_text(raw, notation) for notation in NOTATIONS))
        at += 9 + size
    return found


@pytest.mark.parametrize("in_c", [False, True], ids=["python", "compiled"])
def test_a_selected_row_is_the_logged_one(server: Database, request: pytest.FixtureRequest, *, in_c: bool) -> None:
    if in_c and not compiled.available():
        pytest.skip(compiled.why_not())
    mariadb = isinstance(server, MariaDB)
    database = str(request.getfixturevalue("mariadb_database" if mariadb else "database"))
    kind = "mariadb" if mariadb else "mysql"
    since = new_file(server)
    chosen = {"both", "json", kind, "beyond_both", f"beyond_{kind}"}
    run(server, statements(ZOO, only=chosen), database=database)
    truth = logged(server, since)
    user, password = server.replicator
    config = MySQLSource.model_validate(
        {
            "type": kind,
            "host": server.host,
            "port": server.port,
            "user": user,
            "password": "env:REPL_X",
            "tables": ["*.*"],
        }
    )
    wrong = []
    with Session(config, password) as session:
        described = read_server(session)
        for (name,) in server.execute(f"SHOW TABLES FROM {database}"):
            table = table_shape.read(session, described, database, str(name))
            body = table_map.body(table, 7, mariadb=mariadb)[6:]
            if table.name not in OLD_TYPES and parser.parse(body, mariadb=mariadb) != parser.parse(
                truth[str(name)][0], mariadb=mariadb
            ):
                ours, its = (parser.parse(raw, mariadb=mariadb).table for raw in (body, truth[str(name)][0]))
                wrong += [f"{name}: {a} not {b}" for a, b in zip(ours.columns, its.columns, strict=True) if a != b]
                wrong += (
                    [f"{name}: key {ours.primary_key} not {its.primary_key}"]
                    if ours.primary_key != its.primary_key
                    else []
                )
            session.rows(SETTINGS)
            answer = prepared.Answer(session, table.select)
            ours_rows = b"".join(rows_of(answer, table, mariadb=mariadb, in_c=in_c))
            its_rows = b"".join(truth[str(name)][1])
            if table.name in TYPED_DOCUMENTS and not mariadb:
                pairs = list(zip(documents(ours_rows), documents(its_rows), strict=True))
                wrong += [f"{name}: {ours} not {its}" for ours, its in pairs if ours != its and SMALL not in its[0]]
                wrong += [
                    f"{name}: {ours} is another value than {its}"
                    for ours, its in pairs
                    if list(map(json.loads, ours)) != list(map(json.loads, its))
                ]
            elif table.name not in OLD_TYPES and ours_rows != its_rows:
                place = next((i for i, (a, b) in enumerate(zip(ours_rows, its_rows, strict=False)) if a != b), -1)
                ours_part, its_part = (rows[place - 8 : place + 24].hex() for rows in (ours_rows, its_rows))
                wrong.append(f"{name}: differ at {place}: {ours_part} not {its_part}")
            session.rows("SET SESSION character_set_results = utf8mb4")
    assert not wrong, "\n".join(wrong)
