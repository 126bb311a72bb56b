"""What will go wrong with a task that runs, if nobody does anything about it: looked at now and then, beside the data
path, in a process of its own (core/outlook.py). What it needs is imported late: whoever only reads the answer, as the
Core does, does not load the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from replicator.config.secrets import resolve
from replicator.config.task import KafkaSink, TaskConfig
from replicator.errors import ReplicatorError

if TYPE_CHECKING:
    from replicator.certificates import Certificate

_GROUPS = 5


class Outlook(msgspec.Struct, frozen=True):
    """
    Attributes:
        certificate_ms: when the first certificate ends that the task needs, ms since the epoch; 0 without any.
        certificate: whose that is: `HOST:PORT` or a file.
        late_consumers: by group, what it loses or is about to lose of the task's topics; a few of them.
    """

    certificate_ms: int = 0
    certificate: str = ""
    late_consumers: dict[str, str] = {}


def look(config: TaskConfig) -> Outlook:
    """Asks source and sink. What does not answer is left out: the data path meets the same server, and says so."""
    from replicator import certificates

    shown, tables = _ask_source(config)
    registry = config.sink.debezium.schema_registry
    sink = config.sink if isinstance(config.sink, KafkaSink) else None
    ends = [
        *certificates.of_files(config.source.tls),
        *certificates.of_files(sink.tls if sink else None),
        *certificates.of_files(registry.tls if registry else None),
        *shown,
        *(_ask_brokers(sink) if sink else ()),
    ]
    first = min(ends, key=lambda each: each.end_ms, default=None)
    return Outlook(
        certificate_ms=first.end_ms if first else 0,
        certificate=first.of if first else "",
        late_consumers=dict(sorted(_late(config, tables).items())[:_GROUPS]),
    )


def _ask_source(config: TaskConfig) -> tuple[list[Certificate], list[tuple[str, str]]]:
    """The certificates that the servers show, and the tables that the first one has for the task."""
    from replicator import certificates
    from replicator.source.mysql.checks.tables import carried
    from replicator.source.mysql.hosts import candidates
    from replicator.source.mysql.session import Session

    found: list[Certificate] = []
    tables: list[tuple[str, str]] = []
    for member in candidates(config.source):
        try:
            with Session(member, resolve(config.source.password)) as session:
                found += certificates.of_server(session.where, session.certificate_days)
                if isinstance(config.sink, KafkaSink) and not tables:
                    tables = carried(session, member)
        except ReplicatorError:
            continue
    return found, tables


def _ask_brokers(sink: KafkaSink) -> list[Certificate]:
    from replicator import certificates
    from replicator.sink.kafka.access import certificate_days

    return [each for where, days in certificate_days(sink).items() for each in certificates.of_server(where, days)]


def _late(config: TaskConfig, tables: list[tuple[str, str]]) -> dict[str, str]:
    from replicator.checks.task import describe
    from replicator.checks.transforms import topics
    from replicator.sink.kafka.checks import late

    if not isinstance(config.sink, KafkaSink) or not tables:
        return {}
    try:
        return late(config.sink, config.name, topics(config, describe(config, tables)))
    except ReplicatorError:
        return {}
