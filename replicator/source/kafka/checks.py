"""Checks of a source that is topics."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing

import msgspec
from kafka import TopicPartition

from replicator.config.kafka_source import KafkaSource
from replicator.errors import ReplicatorError
from replicator.kafka.admin_client import SECONDS, AdminClient
from replicator.kafka.messages import list_offsets
from replicator.kafka.messages.metadata import Topic
from replicator.model.finding import Finding, listed
from replicator.model.position import Position
from replicator.model.topic_frames import RecordFrame
from replicator.net import encryption_checks
from replicator.source.kafka import topics
from replicator.source.kafka.client import Login, connect, translating
from replicator.source.kafka.source import TopicSource

_SAMPLED = 50
"""Topics of which a record is read."""


class Checked(msgspec.Struct, frozen=True):
    """
    Attributes:
        samples: the last committed record with a value of some topics.
        partitions: of each topic.
    """

    findings: list[Finding]
    samples: list[RecordFrame]
    partitions: dict[str, int]


def check(config: KafkaSource, login: Login, position: Position | None) -> Checked:
    """`position`: of the task; None: it has none. Never raises for what a broker answers."""
    findings = [
        encryption_checks.encrypted("source", config.tls, list(config.bootstrap_servers)),
        *encryption_checks.ending_files("source", config.tls),
    ]
    began = time.monotonic()
    try:
        client = connect(config, login)
    except ReplicatorError as error:
        return Checked([*findings, Finding.of_error("source.reachable", error)], [], {})
    with closing(client):
        took = (time.monotonic() - began) * 1000
        findings.append(Finding.ok("source.reachable", f"{', '.join(config.bootstrap_servers)}, after {took:.0f} ms"))
        try:
            found = topics.chosen(client, config)
            findings.append(_topics(client, found))
            findings.append(_place(client, config, login, found, position))
            samples = _samples(client, found)
        except ReplicatorError as error:
            return Checked([*findings, Finding.of_error("source.topics", error)], [], {})
    return Checked(findings, samples, {name: len(topic.partitions) for name, topic in found.items()})


def _topics(client: AdminClient, found: Mapping[str, Topic]) -> Finding:
    topics.check_not_compacted(client, found)
    partitions = sum(len(topic.partitions) for topic in found.values())
    return Finding.ok("source.topics", f"{len(found)} topics with {partitions} partitions: {listed(list(found))}")


def _place(
    client: AdminClient, config: KafkaSource, login: Login, found: Mapping[str, Topic], position: Position | None
) -> Finding:
    try:
        begins = position if position is not None else TopicSource(config, login).start_position()
        topics.continued(client, found, begins)
    except ReplicatorError as error:
        return Finding.of_error("source.position", error)
    return Finding.ok("source.position", f"{'continues' if position else 'begins'} at {str(begins)[:200]}")


def _samples(client: AdminClient, found: Mapping[str, Topic]) -> list[RecordFrame]:
    some = list(found.values())[:_SAMPLED]
    first = topics.ends(client, some, list_offsets.FIRST, committed=False)
    last = topics.ends(client, some, list_offsets.LAST, committed=True)
    samples = []
    for topic in some:
        for partition, (low, high) in enumerate(zip(first[topic.name], last[topic.name], strict=True)):
            sample = _last_record(client, topic.name, partition, low, high)
            if sample is not None:
                samples.append(sample)
                break
    return samples


def _last_record(client: AdminClient, topic: str, partition: int, low: int, high: int) -> RecordFrame | None:
    """Behind the last records there may be tombstones, ends of transactions and aborted ones."""
    start = max(low, high - 20)
    place = TopicPartition(topic, partition)
    sample = None
    with translating(f"partition {partition} of topic '{topic}' can't be read"):
        while start < high:
            records, following = client.fetch(place, start, time.monotonic() + SECONDS)
            for record in records:
                if record.value is not None:
                    sample = RecordFrame(topic, partition, record.offset, record.key, record.value)
            if following <= start:
                break
            start = following
    return sample
