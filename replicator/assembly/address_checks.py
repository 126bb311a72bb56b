"""Checks whether a task may connect to the server behind another address: the checks of a fail-over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from replicator.config.ddns import placed
from replicator.config.kafka_source import KafkaSource
from replicator.config.load import parse_task
from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.task import KafkaSink, TaskConfig
from replicator.errors import SinkError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.authority import authority


class Checked(NamedTuple):
    """cluster: id of the Kafka cluster, "" for a database server."""

    cluster: str = ""


def check_address(
    config: Mapping[str, Any],
    section: str,
    address: str,
    term: Term,
    known: Checkpoint | None,
    cluster: str,
    *,
    first: bool = False,
) -> Checked:
    """Changes nothing at the server.

    Args:
        config: of the task, with the addresses that it uses now.
        known: how far the task has delivered, at least; None: it has not begun.
        cluster: id of the Kafka cluster that the task writes to, "" where it is not known.
        first: the task has no other address, and may begin at the server.

    Raises:
        SourceError: E2206, E2209, E2210, E2218 and the like.
        SinkError: E4106, another Kafka cluster; E4107, a target without the task's position; E3114 and the like.
        SourceUnavailable, SinkUnavailable, ConfigError.
    """
    task = parse_task({**config, section: placed(config[section], address)})
    if section == "source":
        _check_source(task, known.position if known is not None else None)
    elif isinstance(task.sink, KafkaSink):
        return Checked(_cluster(task.sink, address, cluster))
    elif isinstance(task.sink, MySQLSink) and not first:
        _check_target(task, task.sink, term, known)
    return Checked()


def _check_source(task: TaskConfig, position: Position | None) -> None:
    from replicator.source.mysql import MySQLSource

    source = MySQLSource(task.database, task.name, resolve(task.database.password))
    if position is None or position.begin is not None:
        source.end_position()
    else:
        source.check(position)


def _cluster(sink: KafkaSink, address: str, wanted: str) -> str:
    from replicator.sink.kafka.admin import connect_admin

    admin = connect_admin(sink)
    found = admin.cluster
    admin.close()
    if wanted and found != wanted:
        raise SinkError(
            "E4106", f"{address} is a broker of another Kafka cluster", found=found or "no cluster id", wanted=wanted
        )
    return found


def _check_target(task: TaskConfig, sink: MySQLSink, term: Term, known: Checkpoint | None) -> None:
    """The position there decides what is sent again; the source has to have that still."""
    from replicator.mysql.hosts import candidates
    from replicator.sink.mysql.connection import Target
    from replicator.sink.mysql.position_table import PositionTable

    member = candidates(sink)[0]
    target = Target(member, resolve(sink.password))
    try:
        table = PositionTable(sink.position_database, term.installation, task.name)
        row = table.read(target.session) if table.exists(target.session) else None
    finally:
        target.session.close()
    held = row.position if row is not None and row.uid == term.uid else None
    if known is None:
        return
    if held is None:
        found = "no row of the task in replicator_position" if row is None else "the position of another task"
        raise SinkError(
            "E4107", f"{member.host}:{member.port} has no position of the task", found=found, wanted=str(known.position)
        )
    position = authority(held, known, rows=True)
    if not isinstance(task.source, KafkaSource):
        _check_source(task, position)
