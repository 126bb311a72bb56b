"""What `replicator check` finds about a Kafka sink."""

from __future__ import annotations

import time
from typing import Any

import pytest

from replicator.config.task import KafkaSink
from replicator.model.finding import Finding, worst
from replicator.model.term import Term
from replicator.sink import open_sink
from replicator.sink.kafka.checks import check
from tests.conformance.sinks import at, batch
from tests.support.consume import read_all


def topics(task: str) -> list[str]:
    return [f"{task}.shop.orders", f"{task}.shop.h_user"]


def config(bootstrap: str, **options: Any) -> KafkaSink:
    return KafkaSink(type="kafka", bootstrap_servers=(bootstrap,), **options)


def by_id(findings: list[Finding]) -> dict[str, Finding]:
    for finding in findings:
        assert finding.found
        if finding.severity != "ok":
            assert finding.wanted, finding
            assert finding.fix, finding
    return {finding.id: finding for finding in findings}


def test_not_reachable() -> None:
    (finding,) = check(config("127.0.0.1:1"), "copy", topics("copy"))
    assert (finding.id, finding.severity) == ("sink.reachable", "fail")
    assert "E3001" in finding.found


def test_everything_is_still_to_be_created(kafka: Any, task: str) -> None:
    findings = check(config(kafka.bootstrap, partitions=3), task, topics(task))
    found = by_id(findings)
    assert worst(findings) == "warn"  # one broker, one replica
    assert found["sink.reachable"].severity == "ok"
    assert found["sink.version"].severity == "ok"
    assert "2 topics" in found["sink.create_topics"].found
    assert "1 replica" in found["sink.create_topics"].found
    assert found["sink.position_topic"].severity == "warn"
    assert found["sink.transaction"].severity == "ok"
    assert read_all(kafka.bootstrap, [f"{task}.shop.orders", f"replicator.position.{task}"]) == []


def test_topics_missing_and_not_to_be_created(kafka: Any, task: str) -> None:
    kafka.create_topic(f"{task}.shop.orders", partitions=2)
    found = by_id(check(config(kafka.bootstrap, create_topics=False), task, topics(task)))
    assert found["sink.topics"].severity == "fail"
    assert found["sink.topics"].found == f"missing: {task}.shop.h_user"
    assert found["sink.position_topic"].severity == "fail"
    assert "E3101" in found["sink.position_topic"].found


def test_more_replicas_than_brokers(kafka: Any, task: str) -> None:
    found = by_id(check(config(kafka.bootstrap, replication_factor=3), task, topics(task)))
    assert found["sink.create_topics"].severity == "fail"
    assert "only 1 broker(s) are registered" in found["sink.create_topics"].found


def test_settings_that_lose_records(kafka: Any, task: str) -> None:
    kafka.create_topic(
        f"{task}.shop.orders",
        **{
            "min.insync.replicas": "2",
            "unclean.leader.election.enable": "true",
            "max.message.bytes": "20000",
            "retention.ms": "60000",
        },
    )
    kafka.create_topic(f"{task}.shop.h_user", **{"cleanup.policy": "compact"})
    kafka.create_topic(f"replicator.position.{task}", **{"cleanup.policy": "delete"})
    found = by_id(check(config(kafka.bootstrap), task, topics(task)))
    wrong = {id_: finding.severity for id_, finding in found.items() if finding.severity != "ok"}
    assert wrong == {
        "sink.replication": "warn",
        "sink.min_insync": "fail",
        "sink.unclean_election": "warn",
        "sink.max_message": "warn",
        "sink.retention": "warn",
        "sink.compaction": "warn",
        "sink.position_topic": "fail",
    }
    assert f"{task}.shop.h_user" in found["sink.compaction"].found
    assert f"{task}.shop.orders" not in found["sink.compaction"].found


def test_transaction_timeout_over_the_brokers(kafka: Any, task: str) -> None:
    found = by_id(check(config(kafka.bootstrap, transaction_timeout_ms=3_600_000), task, topics(task)))
    assert found["sink.transaction_timeout"].severity == "fail"
    assert "900000" in found["sink.transaction_timeout"].fix
    assert "sink.transaction" not in found


def test_a_running_task_does_not_notice(kafka: Any, task: str, request: pytest.FixtureRequest) -> None:
    """Neither fenced out, nor anything that its consumers or its position would show."""
    settings, topic = config(kafka.bootstrap), f"{task}.shop.orders"
    sink = open_sink(settings, task)
    request.addfinalizer(sink.close)
    sink.open(Term(task, "u", 1, lambda: float("inf")))
    sink.write(batch(1, (topic, b"k", b"1")))
    sink.commit(at(1))
    began = time.monotonic()
    findings = check(settings, task, topics(task))
    assert time.monotonic() - began < 10
    assert by_id(findings)["sink.transaction"].severity == "ok"
    sink.write(batch(2, (topic, b"k", b"2")))
    sink.commit(at(2))
    assert sink.open(Term(task, "u", 2, lambda: float("inf"))) == at(2)
    assert [record.value for record in read_all(kafka.bootstrap, topic)] == [b"1", b"2"]


def test_at_least_once_needs_no_transactions(kafka: Any, task: str) -> None:
    found = by_id(check(config(kafka.bootstrap, delivery="at_least_once"), task, topics(task)))
    assert not {"sink.transaction", "sink.position_topic"} & set(found)


def test_tables_unknown(kafka: Any, task: str) -> None:
    assert worst(check(config(kafka.bootstrap), task, [])) == "warn"
