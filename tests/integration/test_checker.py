"""The checker over records that a real broker gave back, and role logs that were really written: as they were sent it
finds nothing; each planted fault it names, and no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaProducer

from core.role_log import RoleLog
from dev.checker.consumer import read_topics, seen
from dev.checker.history import Change, Transaction
from dev.checker.roles import read_roles
from dev.checker.verdict import Verdict, judge
from dev.servers import Kafka

KEYS, ROUNDS, PARTITIONS = 4, 6, 2
EPOCHS = (7, 9)
"""The second one takes over in the middle."""

Sent = list[tuple[Change, int]]
"""Changes with the epochs that they were sent under, in that order."""


def written() -> list[Transaction]:
    """A change of each key in turn, each a transaction of its own; the last of each key deletes it."""
    return [
        Transaction(
            number,
            [Change(number % KEYS, counter, number + 1, "c" if counter == 1 else "d" if counter == ROUNDS else "u")],
            "committed",
        )
        for number in range(KEYS * ROUNDS)
        for counter in [number // KEYS + 1]
    ]


def as_it_should(journal: list[Transaction]) -> Sent:
    half = len(journal) // 2
    return [(t.changes[0], EPOCHS[t.number >= half]) for t in journal]


def send(kafka: Kafka, topic: str, sent: Sent) -> None:
    """In the form of the debezium format, as the sink sends it, deletes with their tombstones."""
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, max_in_flight_requests_per_connection=1)
    try:
        for change, epoch in sent:
            image = {"id": change.key, "counter": change.counter - (change.op == "d")}
            value = {
                "op": change.op,
                "before": None if change.op == "c" else image,
                "after": None if change.op == "d" else image,
            }
            key, place = json.dumps({"id": change.key}).encode(), change.key % PARTITIONS
            headers = [
                ("epoch", str(epoch).encode()),
                ("position", f"b.000001:{change.serial}".encode()),
                ("row", b"0"),
            ]
            producer.send(topic, json.dumps(value).encode(), key, headers, place)
            if change.op == "d":
                producer.send(topic, None, key, headers, place)
        producer.flush(20)
    finally:
        producer.close()


def named(verdict: Verdict) -> dict[str, list[str]]:
    return {name: findings for name, findings in verdict.findings() if findings}


@pytest.fixture
def judged(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> Callable[..., Verdict]:
    """What is said of records once they went through the broker, and of the role logs in `tmp_path`."""

    def judged(journal: list[Transaction], sent: Sent) -> Verdict:
        topic = f"{topic_prefix}checked"
        kafka.create_topic(topic, PARTITIONS)
        send(kafka, topic, sent)
        records = read_topics(kafka.address, lambda name: name == topic)
        assert len(records) == len(sent) + sum(change.op == "d" for change, _ in sent)
        return judge(journal, seen(records), roles=read_roles(tmp_path, "copy"))

    return judged


def test_what_was_sent_as_it_should_is_clean(judged: Callable[..., Verdict]) -> None:
    journal = written()
    verdict = judged(journal, as_it_should(journal))
    assert verdict.clean, str(verdict)
    assert verdict.committed == verdict.delivered == KEYS * ROUNDS


def test_a_loss(judged: Callable[..., Verdict]) -> None:
    journal = written()
    sent = as_it_should(journal)
    del sent[9]  # key 1, counter 3
    assert named(judged(journal, sent)) == {"lost": ["u of key 1 counter 3"]}


def test_a_swap(judged: Callable[..., Verdict]) -> None:
    journal = written()
    sent = as_it_should(journal)
    sent[5], sent[9] = sent[9], sent[5]  # key 1, counters 2 and 3
    found = named(judged(journal, sent))
    assert found.keys() == {"reordered"}
    [one] = found["reordered"]
    assert one.startswith("key 1 counter 2 at ") and one.endswith(": after counter 3")


def test_a_duplicate(judged: Callable[..., Verdict]) -> None:
    journal = written()
    sent = as_it_should(journal)
    sent.insert(10, sent[9])
    found = named(judged(journal, sent))
    assert found.keys() == {"duplicated"}
    [one] = found["duplicated"]
    assert one.startswith("key 1 counter 3 at ")


def test_a_stale_epoch(judged: Callable[..., Verdict]) -> None:
    journal = written()
    sent = as_it_should(journal)
    sent[-3] = (sent[-3][0], EPOCHS[0])  # key 1
    found = named(judged(journal, sent))
    assert found.keys() == {"stale"}
    [one] = found["stale"]
    assert one.startswith(f"epoch {EPOCHS[0]} after {EPOCHS[1]} at ")


def test_an_overlap_in_the_role_logs(judged: Callable[..., Verdict], tmp_path: Path) -> None:
    old, new = (RoleLog(tmp_path, "copy", host, epoch) for host, epoch in zip(("a", "b"), EPOCHS, strict=True))
    other = RoleLog(tmp_path, "another task", "a", 3)
    old.emitted(100.0, 101.0)
    old.emitted(101.5, 103.0)
    new.emitted(102.75, 105.0)
    other.emitted(90.0, 200.0)
    journal = written()
    verdict = judged(journal, as_it_should(journal))
    assert named(verdict).keys() == {"overlap"}
    [one] = verdict.overlap
    assert "a/" in one and "b/" in one and one.endswith("both emitted for 250 ms")
    assert verdict.overlap_s == pytest.approx(0.25)
