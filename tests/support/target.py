"""Database sinks on real servers, and what is in their tables."""

from __future__ import annotations

from typing import Any, Literal

from dev.servers import Database
from replicator.assembly.value_texts import value_text
from replicator.config.mysql_sink import MySQLSink as MySQLSinkConfig
from replicator.model.position import Position
from replicator.model.target_table import TargetTables
from replicator.model.term import Term
from replicator.sink.mysql.mysql_sink import MySQLSink

TASK = "copy"


def flavour(server: Database) -> Literal["mysql", "mariadb"]:
    return "mariadb" if server.release.flavour == "mariadb" else "mysql"


def config(server: Database, position_database: str, **options: Any) -> MySQLSinkConfig:
    given = {"host": server.host, "port": server.port, "user": "root", "password": "env:NONE", **options}
    return MySQLSinkConfig(type=flavour(server), position_database=position_database, **given)


def sink(
    server: Database,
    tables: TargetTables,
    position_database: str,
    task: str = TASK,
    installation: str = "i",
    **options: Any,
) -> MySQLSink:
    return MySQLSink(
        config(server, position_database, **options), "", task, installation, tables, value_text=value_text
    )


def term(epoch: int = 1, uid: str = "u1", task: str = TASK) -> Term:
    return Term(task, uid, epoch, lambda: float("inf"), host="here")


def at(offset: int) -> Position:
    return Position("binlog.000001", offset)


def rows(server: Database, table: str, order: str = "id") -> list[tuple[Any, ...]]:
    return server.execute(f"SELECT * FROM {table} ORDER BY {order}")


def position_rows(server: Database, position_database: str) -> list[tuple[Any, ...]]:
    return server.execute(f"SELECT task, uid, epoch, sequence, position FROM {position_database}.replicator_position")
