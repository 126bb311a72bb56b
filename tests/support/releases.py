"""Servers of older and newer releases: running scripts on one, and what a task delivers of it."""

from __future__ import annotations

import ipaddress
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pymysql

from dev.fetch.releases import Release
from dev.observer import Strict
from dev.servers import Database, MariaDB, MySQL
from replicator.assembly.catalogs import build_catalog
from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.config.task import TaskConfig
from replicator.model.checkpoint import Checkpoint
from replicator.model.term import Term
from replicator.pipeline.ports import Source
from replicator.source.mysql.source import MySQLSource
from tests.golden.debezium_consumer import Consumer, same
from tests.support.release_scripts import absent, spelled


def server_of(release: Release, **options: Any) -> Database:
    """Not started."""
    kind = MySQL if release.flavour == "mysql" else MariaDB
    return kind(release=release, fast=True, **options)


def attempt(server: Database, script: Iterable[str], **options: Any) -> list[str]:
    """Runs in one session what the server can run of a script. Returns what the server refused, without a reason for it
    in `release_scripts`, and what it ran, though there is one: nothing, where the reasons are right."""
    wrong, absences = [], absent(server.release)
    with warnings.catch_warnings(), server.connect(**options) as connection, connection.cursor() as cursor:
        warnings.simplefilter("ignore", pymysql.Warning)
        for statement in script:
            expected, answer = any(each.pattern.search(statement) for each in absences), ""
            try:
                cursor.execute(spelled(statement.rstrip(";"), server.release))
            except pymysql.Error as error:
                answer = f"{error.args}"
            if bool(answer) != expected:
                wrong.append(f"{answer or 'is not refused'}: {statement[:100]}")
    return wrong


class Task:
    """A task over a server that begins now, in a file of its own, with its schema history; `lines` delivers all since
    then.

    Args:
        folder: of what the file sink writes.
        options: of the file sink.
        source: options of the source.
        settings: of the task.

    Attributes:
        config: with a sink that nothing is written to.
    """

    def __init__(
        self,
        server: Database,
        folder: Path,
        options: dict[str, Any],
        source: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self._server, self._folder, self._options, self._settings = server, folder, options, settings
        self._source = source or {}
        self._runs = 0
        folder.mkdir(exist_ok=True)
        self.config = self._config("never")
        server.execute("FLUSH BINARY LOGS")
        self.start = self.source().start_position()
        self._history = MemoryHistory()
        build_catalog(self.config, self._history)(self.start)

    def source(self) -> MySQLSource:
        return MySQLSource(self.config.database, "release", self._server.replicator[1])

    def lines(self, source: Source | None = None) -> Path:
        """The file that the sink wrote. `source`: instead of the server, from its first position on."""
        self._runs += 1
        path = self._folder / f"{self._runs}.jsonl"
        store = MemoryStore()
        store.save(Checkpoint(self.start if source is None else source.start_position()))
        source = source or self.source()
        pipeline = build_pipeline(
            self._config(str(path)),
            term=Term.unlimited("release", "test"),
            store=store,
            observer=Strict(),
            source=source,
            history=self._history,
        )
        pipeline.run(source.end_position())
        return path

    def _config(self, path: str) -> TaskConfig:
        server = self._server
        source = {
            "type": server.release.flavour,
            "host": server.host,
            "port": server.port,
            "user": server.replicator[0],
            "password": "env:RELEASE_PASSWORD",
            "tables": ["*.*"],
            **self._source,
        }
        sink = {"type": "file", "path": path, **self._options}
        return parse_task({"name": "release", "source": source, "sink": sink, **self._settings})


Selected = dict[str, list[dict[str, Any]]]


def differences(consumer: Consumer, truth: Selected) -> tuple[list[str], int]:
    """What a consumer of Debezium's records has otherwise than the server, and how many rows were compared."""
    wrong, compared = [], 0
    for table, rows in truth.items():
        if table in consumer.altered:
            continue
        mine, fields = list(consumer.tables.get(table, [])), consumer.fields.get(table, {})
        for row in rows:
            found = next((each for each in mine if _fits(each, row, fields)), None)
            if found is None:
                wrong.append(f"{table}: {row} is not among {mine[:3]}"[:1500])
            else:
                mine.remove(found)
                compared += 1
        wrong += [f"{table}: {row} is too much"[:600] for row in mine]
    return wrong, compared


def _fits(mine: dict[str, Any], row: dict[str, Any], fields: dict[str, Any]) -> bool:
    return mine.keys() == row.keys() and all(
        same(mine[column], _packed(row[column], fields[column]), fields[column]) for column in mine
    )


def _packed(value: Any, schema: dict[str, Any]) -> Any:
    """MariaDB's UUID, INET and VECTOR (selected in hexadecimal), which the format has as bytes."""
    if schema["type"] != "bytes" or "name" in schema or not isinstance(value, str):
        return value
    if ":" in value or value.count(".") == 3:
        return ipaddress.ip_address(value).packed
    return bytes.fromhex(value.replace("-", ""))
