"""Finds what will fail later: certificates that expire, consumer groups that fall behind retention.

The Core runs it once an hour in a process of its own. Clients are imported late, so that who only reads the report
does not load them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from replicator.config.kafka_source import KafkaSource
from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.task import KafkaSink, Records, TaskConfig
from replicator.errors import ReplicatorError

if TYPE_CHECKING:
    from replicator.net.certificate_expiry import Certificate

_GROUPS = 5


class ExpiryReport(msgspec.Struct, frozen=True):
    """
    Attributes:
        certificate_ms: when the first certificate ends that the task needs, ms since the epoch; 0 without any.
        certificate: whose that is: `HOST:PORT` or a file.
        late_consumers: by group, what it loses or is about to lose of the task's topics; a few of them.
    """

    certificate_ms: int = 0
    certificate: str = ""
    late_consumers: dict[str, str] = {}


def check_expiry(config: TaskConfig) -> ExpiryReport:
    """Asks source and sink. What does not answer is left out: the data path meets the same server, and says so."""
    from replicator.net import certificate_expiry

    shown, tables = _ask_source(config)
    registry = config.sink.debezium.schema_registry if isinstance(config.sink, Records) else None
    sink = config.sink if isinstance(config.sink, KafkaSink) else None
    target = config.sink if isinstance(config.sink, MySQLSink) else None
    ends = [
        *certificate_expiry.of_files(config.source.tls),
        *certificate_expiry.of_files(sink.tls if sink else None),
        *certificate_expiry.of_files(target.tls if target else None),
        *certificate_expiry.of_files(registry.tls if registry else None),
        *shown,
        *(_ask_brokers(sink) if sink else ()),
        *(_ask_target(target) if target else ()),
    ]
    first = min(ends, key=lambda each: each.end_ms, default=None)
    return ExpiryReport(
        certificate_ms=first.end_ms if first else 0,
        certificate=first.of if first else "",
        late_consumers=dict(sorted(_late(config, tables).items())[:_GROUPS]),
    )


def _ask_source(config: TaskConfig) -> tuple[list[Certificate], list[tuple[str, str]]]:
    """The certificates that the servers show, and the tables that the first one has for the task."""
    from replicator.mysql.hosts import candidates
    from replicator.mysql.session import Session
    from replicator.net import certificate_expiry
    from replicator.source.mysql.checks.tables import carried

    if isinstance(config.source, KafkaSource):
        return _ask_brokers(config.source), []
    found: list[Certificate] = []
    tables: list[tuple[str, str]] = []
    for member in candidates(config.database):
        try:
            with Session(member, resolve(config.database.password)) as session:
                found += certificate_expiry.of_server(session.where, session.certificate_days)
                if isinstance(config.sink, KafkaSink) and not tables:
                    tables = carried(session, member)
        except ReplicatorError:
            continue
    return found, tables


def _ask_target(sink: MySQLSink) -> list[Certificate]:
    from replicator.mysql.hosts import candidates
    from replicator.mysql.session import Session
    from replicator.net import certificate_expiry

    found: list[Certificate] = []
    for member in candidates(sink):
        try:
            with Session(member, resolve(sink.password)) as session:
                found += certificate_expiry.of_server(session.where, session.certificate_days)
        except ReplicatorError:
            continue
    return found


def _ask_brokers(brokers: KafkaSink | KafkaSource) -> list[Certificate]:
    from replicator.net import certificate_expiry
    from replicator.sink.kafka.connection_probe import certificate_days

    return [
        each for where, days in certificate_days(brokers).items() for each in certificate_expiry.of_server(where, days)
    ]


def _late(config: TaskConfig, tables: list[tuple[str, str]]) -> dict[str, str]:
    from replicator.assembly.task_checks import describe
    from replicator.assembly.transform_checks import topics
    from replicator.sink.kafka.checks import late

    if not isinstance(config.sink, KafkaSink) or not tables:
        return {}
    try:
        return late(config.sink, config.name, topics(config, describe(config, tables)))
    except ReplicatorError:
        return {}
