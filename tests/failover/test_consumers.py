"""Consumers that fall behind what Kafka keeps are named by the check."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.errors import CoordinatorNotAvailableError, NotCoordinatorError
from kafka.structs import OffsetAndMetadata

from dev.cluster import wait_for
from replicator.model.finding import Finding
from replicator.sink.kafka.consumers import check_consumers

HOUR = 3_600_000


@pytest.fixture
def admin(kafka: Any) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    yield client
    client.close()


def write(kafka: Any, topic: str, ages_ms: list[int]) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)
    now = int(time.time() * 1000)
    for age in ages_ms:
        producer.send(topic, b"x", partition=0, timestamp_ms=now - age)
    producer.close()


def stand(admin: KafkaAdminClient, group: str, topic: str, offset: int) -> None:
    """The group goes on at `offset`. A broker that never had a group first makes the place where they are kept."""

    def done() -> bool:
        with contextlib.suppress(CoordinatorNotAvailableError, NotCoordinatorError):
            admin.alter_group_offsets(group, {TopicPartition(topic, 0): OffsetAndMetadata(offset, "", None)})
            return True
        return False

    wait_for(done, "the group's position", 30, every=0.2)


def about(findings: list[Finding]) -> tuple[str, str]:
    [finding] = findings
    assert finding.id == "sink.consumers"
    return finding.severity, finding.found


def test_30_who_reads_too_slowly_is_named_before_and_after_the_loss(
    kafka: Any, admin: KafkaAdminClient, topic_prefix: str
) -> None:
    topic, slow = f"{topic_prefix}orders", f"{topic_prefix}slow"
    kafka.create_topic(topic, **{"retention.ms": str(10 * HOUR)})
    write(kafka, topic, [9 * HOUR] * 3 + [HOUR] * 7)
    kept = {topic: 10 * HOUR}
    assert check_consumers(admin, kept) == [], "nobody reads it"
    stand(admin, slow, topic, 3)
    assert about(check_consumers(admin, kept))[0] == "ok"
    stand(admin, slow, topic, 1)
    severity, found = about(check_consumers(admin, kept))
    assert severity == "warn" and f"'{slow}' is about to lose 2 records of {topic}/0" in found
    assert about(check_consumers(admin, {topic: -1}))[0] == "ok", "nothing is deleted by time"
    admin.delete_records({TopicPartition(topic, 0): 4})
    severity, found = about(check_consumers(admin, kept))
    assert severity == "warn" and f"'{slow}' has lost 3 records of {topic}/0" in found


def test_records_that_are_all_old_are_about_to_go(kafka: Any, admin: KafkaAdminClient, topic_prefix: str) -> None:
    topic, group = f"{topic_prefix}quiet", f"{topic_prefix}asleep"
    kafka.create_topic(topic, **{"retention.ms": str(10 * HOUR)})
    write(kafka, topic, [9 * HOUR] * 4)
    stand(admin, group, topic, 0)
    assert "about to lose 4 records" in about(check_consumers(admin, {topic: 10 * HOUR}))[1]
    stand(admin, group, topic, 4)
    assert about(check_consumers(admin, {topic: 10 * HOUR}))[0] == "ok", "it has read everything"
