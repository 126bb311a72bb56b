"""What our decoder and the debezium format make of a server's binlog files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from dev.servers import Database, MariaDB
from replicator.config.task import StdoutSink
from replicator.decode.decoder import BinlogDecoder
from replicator.encode import formats
from replicator.encode.topics import Topics
from replicator.errors import ReplicatorError
from replicator.model.batch import Record
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.table import Table
from tests.golden.rules_debezium import masked
from tests.support.script import run

Wanted = Callable[[Table], bool]
_GTID = re.compile(r'"gtid":"\d+-\d+-\d+"')  # MariaDB's


def new_file(server: Database) -> str:
    """Begins a new binlog file and returns its name."""
    server.execute("FLUSH BINARY LOGS")
    return files(server)[-1]


def files(server: Database) -> list[str]:
    return [str(row[0]) for row in server.execute("SHOW BINARY LOGS")]


def kinds(server: Database, since: str | None = None) -> Counter[int]:
    """How many events of each type are in a server's binlog files."""
    ((folder,),) = server.execute("SELECT @@datadir")
    names = files(server)
    found: Counter[int] = Counter()
    for name in names[names.index(since) if since else 0 :]:
        found += kinds_in(Path(str(folder)) / name)
    return found


def kinds_in(file: Path) -> Counter[int]:
    """How many events of each type are in a binlog file."""
    found: Counter[int] = Counter()
    raw, at = file.read_bytes(), 4
    while at < len(raw):
        found[raw[at + 4]] += 1
        at += int.from_bytes(raw[at + 9 : at + 13], "little")
    return found


def decoded(server: Database, task: str, wanted: Wanted, since: str | None = None) -> list[Record]:
    """The records of a task with the default topics, from the beginning of a file on, or of the oldest."""
    topics = Topics("{task}.{database}.{table}", task)
    exact = {"enable_time_adjuster": False, "replace_null_with_default": False}
    sink = StdoutSink.model_validate({"type": "stdout", "debezium": exact})
    debezium = formats["debezium"](task, sink, "mysql")

    def plan(table: Table) -> TablePlan | None:
        return debezium.plan(table, topics.topic(table)) if wanted(table) else None

    server.execute("FLUSH BINARY LOGS")
    names = files(server)
    names = names[names.index(since) if since else 0 :]
    decoder = BinlogDecoder(
        plan,
        position=Position(names[0], 4),
        flavor="mariadb" if isinstance(server, MariaDB) else "mysql",
        framing="file",
        server_error=_no_error,
    )
    ((folder,),) = server.execute("SELECT @@datadir")
    found: list[Record] = []
    for name in names:
        for batch in [*decoder.feed((Path(str(folder)) / name).read_bytes()[4:]), *decoder.feed(b"")]:
            found.extend(batch.records)
    return found


def told(server: Database, statements: Iterator[str]) -> tuple[list[object], Counter[int]]:
    """What the statements give, without what differs from run to run, and how many events of each type they are in."""
    database = "same"
    server.execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
    since = new_file(server)
    run(server, statements, database=database)
    found = decoded(server, "same", lambda table: table.database == database, since)
    server.execute(f"DROP DATABASE {database}")
    return [
        (topic, key, value and _GTID.sub('"gtid":0', masked(value.decode())), row, headers)
        for topic, key, value, _, row, headers, *_ in found
    ], kinds(server, since)


def _no_error(errno: int, sqlstate: str, message: str) -> ReplicatorError:
    raise AssertionError(f"the file contains an error packet: {errno} {sqlstate} {message}")
