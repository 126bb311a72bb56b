"""The zoo scripts, each run once on a real MySQL; its binlog files are kept, so that any format and option set can be
decoded from them in no time."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import pymysql
import pymysql.cursors

from dev.observer import Strict
from dev.servers import Database, MySQL
from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.model.term import Term
from replicator.schema.history import base
from replicator.schema.server_schema import ServerSchema
from replicator.source.recorded_source import RecordedSource
from tests.golden.compare import HERE, Record, Report, System, Variation, load
from tests.golden.snapshots import snapshot_records
from tests.support.decoded import kinds_in
from tests.support.script import run, statements

_SYSTEM_DATABASES = frozenset({"mysql", "sys", "information_schema", "performance_schema"})


class _Empty:
    """A `ports.HistoryStore` in memory that begins with a server without tables, as the scripts do."""

    def __init__(self, start: Position, tables: Sequence[str]) -> None:
        self._records = [base(ServerSchema(mariadb=False), start, scope=tables)]

    def load(self) -> Sequence[SchemaRecord]:
        return self._records

    def append(self, record: SchemaRecord) -> None:
        self._records.append(record)

    def replace(self, records: Sequence[SchemaRecord]) -> None:
        self._records = list(records)


class Recordings:
    """One server for all scripts, started when the first is wanted.

    Args:
        folder: of the copied binlog files and of what the file sink writes.
        start: a MySQL that runs.
    """

    def __init__(self, folder: Path, start: Callable[[], MySQL]) -> None:
        self._folder = folder
        self._start = start
        self._server: MySQL | None = None
        self._files: dict[tuple[str, frozenset[str], tuple[str, ...]], list[Path]] = {}
        self._truth: dict[Path, dict[str, list[dict[str, str | bytes | None]]]] = {}
        self._reports: dict[tuple[str, str], Report] = {}
        self._outputs = 0
        self._recorded = 0
        self._last: tuple[str, frozenset[str], tuple[str, ...]] | None = None

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def files(self, variation: Variation) -> list[Path]:
        """The binlog files of its script."""
        key = variation.script, variation.leave_out, variation.session
        if key not in self._files:
            self._files[key] = self._record(*key)
            self._last = key
        return self._files[key]

    def kinds(self, variation: Variation) -> Counter[int]:
        """How many events of each type are in them."""
        return sum(map(kinds_in, self.files(variation)), Counter())

    def truth(self, variation: Variation) -> dict[str, list[dict[str, str | bytes | None]]]:
        """What the server said after the script: `database.table` -> rows; values as the server's text, bytes where
        they are bytes."""
        return self._truth[self.files(variation)[0]]

    def records(self, variation: Variation) -> list[Record]:
        """What our whole pipeline writes to a file sink; of a snapshot what our reader, decoder and planners make."""
        if variation.snapshot:
            return snapshot_records(self.after(variation), variation)
        return load(self.lines(variation))

    def after(self, variation: Variation) -> MySQL:
        """The server as the script has left it."""
        key = variation.script, variation.leave_out, variation.session
        if self._last != key:
            self._files.pop(key, None)
        self.files(variation)
        assert self._server is not None
        return self._server

    def lines(self, variation: Variation) -> Path:
        """The file that a file sink wrote."""
        source = RecordedSource(self.files(variation))
        self._outputs += 1
        path = self._folder / f"{self._outputs}.jsonl"
        config = {
            "name": variation.task,
            "source": {
                "type": "mysql",
                "user": "nobody",
                "password": "env:NOBODY",
                "tables": list(variation.tables),
                **variation.source,
            },
            "sink": {"type": "file", "path": str(path), **variation.options},
        }
        task = parse_task(config)
        pipeline = build_pipeline(
            task,
            term=Term.unlimited(variation.task, "golden"),
            store=MemoryStore(),
            observer=Strict(),
            source=source,
            history=_Empty(source.start_position(), task.source.tables),
        )
        pipeline.run(source.end_position())
        return path

    def report(self, system: System, variation: Variation) -> Report:
        """The comparison; made once."""
        key = system.name, variation.name
        if key not in self._reports:
            theirs = filter(variation.only, load(HERE / "data" / system.name / variation.golden))
            ours = filter(variation.only, self.records(variation))
            report = Report(system, switched=variation.switched, snapshot=bool(variation.snapshot))
            self._reports[key] = report.compare(theirs, ours)
        return self._reports[key]

    def _record(self, script: str, leave_out: frozenset[str], session: tuple[str, ...]) -> list[Path]:
        if self._server is None:
            self._server = self._start()
        server = self._server
        for (name,) in server.execute("SHOW DATABASES"):
            if name not in _SYSTEM_DATABASES:
                server.execute(f"DROP DATABASE {_quoted(name)}")
        server.execute("FLUSH BINARY LOGS")
        (*_, (first, *_)) = server.execute("SHOW BINARY LOGS")
        run(server, chain(session, statements(HERE / script, leave_out=leave_out)))
        server.execute("FLUSH BINARY LOGS")
        names = [str(row[0]) for row in server.execute("SHOW BINARY LOGS")]
        ((data,),) = server.execute("SELECT @@datadir")
        self._recorded += 1
        target = self._folder / f"binlog-{self._recorded}"
        target.mkdir()
        files = [Path(shutil.copy(Path(str(data)) / name, target)) for name in names[names.index(str(first)) : -1]]
        self._truth[files[0]] = everything(server)
        return files


def everything(server: Database) -> dict[str, list[dict[str, str | bytes | None]]]:
    tables = server.execute("SELECT table_schema, table_name FROM information_schema.tables WHERE table_type <> 'VIEW'")
    connection = server.connect(conv={}, cursorclass=pymysql.cursors.DictCursor)
    found: dict[str, list[dict[str, str | bytes | None]]] = {}
    with connection.cursor() as cursor:
        for database, table in tables:
            if database not in _SYSTEM_DATABASES:
                names = server.execute(f"SHOW COLUMNS FROM {_quoted(database)}.{_quoted(table)}")
                columns = ", ".join(_chosen(str(name), str(kind)) for name, kind, *_ in names)  # invisible ones too
                cursor.execute(f"SELECT {columns} FROM {_quoted(database)}.{_quoted(table)}")
                found[f"{database}.{table}"] = list(cursor.fetchall())
    connection.close()
    return found


def _chosen(column: str, kind: str) -> str:
    """The client can't read a VECTOR: it comes in hexadecimal."""
    quoted = _quoted(column)
    return f"HEX({quoted}) AS {quoted}" if kind.startswith("vector") else quoted


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def needless(reports: list[Report], system: System) -> set[str]:
    """Names of rules that explained nothing in any of the reports."""
    return {rule.name for rule in system.rules} - {name for report in reports for name in report.used}
