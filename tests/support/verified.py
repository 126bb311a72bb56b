"""Two databases, source and target of a task, and the verification of one against the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from dev.servers import Database, MariaDB
from replicator.assembly.verification import open_verification
from replicator.cli.verify_output import NoLine
from replicator.config.load import parse_task
from replicator.config.task import MySQLSource, TaskConfig
from replicator.verify.report import TableResult
from replicator.verify.side import Side
from replicator.verify.verifier import Options
from tests.servers import new_database
from tests.support.script import run

PASSWORD = "REPL_VERIFY_PASSWORD"


class Pair(msgspec.Struct):
    source: Database
    database: str
    target: Database
    other: str

    def config(self, **more: Any) -> TaskConfig:
        transforms = dict(more.pop("transforms", {}))
        renames = list(transforms.pop("rename", []))
        renames = [{**rule, "database": self.other} for rule in renames]
        transforms["rename"] = [*renames, {"tables": [f"{self.database}.*"], "database": self.other}]
        return parse_task(
            {
                "name": more.pop("name", "copy"),
                "source": {**_server(self.source), "tables": [f"{self.database}.*"], **more.pop("source", {})},
                "sink": {**_server(self.target), **more.pop("sink", {})},
                "transforms": transforms,
                **more,
            }
        )

    def here(self, *statements: str) -> None:
        run(self.source, iter(statements), database=self.database)

    def there(self, *statements: str) -> None:
        run(self.target, iter(statements), database=self.other)

    def both(self, *statements: str) -> None:
        self.here(*statements)
        self.there(*statements)


def _server(server: Database) -> dict[str, Any]:
    user, password = server.replicator
    os.environ[PASSWORD] = password
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    return {"type": kind, "host": server.host, "port": server.port, "user": user, "password": f"env:{PASSWORD}"}


@contextmanager
def pair(source: Database, target: Database) -> Iterator[Pair]:
    with new_database(source) as database, new_database(target) as other:
        yield Pair(source, database, target, other)


def verify(
    config: TaskConfig,
    *patterns: str,
    options: Options = Options(),  # noqa: B008 (frozen)
    wait: float = 10,
    state: Path | None = None,
    observer: NoLine | None = None,
) -> dict[str, TableResult]:
    """By the table's name without its database."""
    return {each.table.partition(".")[2]: each for each in verified(config, patterns, options, wait, state, observer)}


def verified(
    config: TaskConfig,
    patterns: Sequence[str],
    options: Options,
    wait: float,
    state: Path | None,
    observer: NoLine | None = None,
) -> list[TableResult]:
    with open_verification(config, patterns) as found:
        return found.verifier(options, wait, state, observer or NoLine()).run(found.tables)


def summary(result: TableResult) -> tuple[str, int, int, int]:
    return result.result, result.missing, result.extra, result.different


def side(server: Database) -> Side:
    made = MySQLSource.model_validate({**_server(server), "tables": ["*.*"]})
    return Side.of(made, server.replicator[1])
