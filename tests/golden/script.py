"""Runs a golden script, in one session, and decodes what the server wrote."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Set
from pathlib import Path

import pymysql

from dev.servers import MySQL
from replicator.decode.decoder import BinlogDecoder
from replicator.encode import formats
from replicator.encode.topics import Topics
from replicator.errors import ReplicatorError
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.table import Table
from tests.golden.compare import HERE, Record

_SECTION = re.compile(r"^-- @section (\w+)\n", re.MULTILINE)
_STATEMENT = re.compile(r"""(?:[^;'"`]|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`)+;""", re.DOTALL)
_TASK = "golden"


def statements(name: str, leave_out: Set[str] = frozenset()) -> Iterator[str]:
    """The statements of a script, without those of the sections left out."""
    text = (HERE / name).read_text()
    parts = _SECTION.split(text)
    for section, body in zip(["", *parts[1::2]], parts[0::2], strict=True):
        if section not in leave_out:
            lines = "\n".join(line for line in body.splitlines() if not line.startswith("-- "))
            yield from (match[0].strip() for match in _STATEMENT.finditer(lines))


def run(server: MySQL, script: Iterator[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pymysql.Warning)
        connection = server.connect()
        with connection.cursor() as cursor:
            for statement in script:
                cursor.execute(statement.rstrip(";"))
        connection.close()


def decode(server: MySQL) -> list[Record]:
    """All rows of all binlogs of the server, as a task `golden` with the debezium format emits them."""
    server.execute("FLUSH BINARY LOGS")
    topics = Topics("{task}.{database}.{table}", _TASK)
    debezium = formats["debezium"](_TASK)

    def plan(table: Table) -> TablePlan | None:
        return None if table.database == "mysql" else debezium.plan(table, topics.topic(table))

    def no_error(errno: int, sqlstate: str, message: str) -> ReplicatorError:
        raise AssertionError(message)

    found: list[Record] = []
    files = [str(row[0]) for row in server.execute("SHOW BINARY LOGS")]
    decoder = BinlogDecoder(plan, position=Position(files[0], 4), flavor="mysql", framing="file", server_error=no_error)
    for file in files:
        for batch in [*decoder.feed(_read(server, file)), *decoder.feed(b"")]:
            for topic, key, value, _, _, headers in batch.records:
                texts = (None if part is None else part.decode() for part in (key, value))
                found.append(
                    Record(
                        topic.removeprefix(f"{_TASK}."), *texts, tuple((name, text.decode()) for name, text in headers)
                    )
                )
    return found


def _read(server: MySQL, file: str) -> bytes:
    ((folder,),) = server.execute("SELECT @@datadir")
    return (Path(str(folder)) / file).read_bytes()
