"""What is known of a cluster: which leader counts when brokers disagree, and when they are asked again."""

from __future__ import annotations

import pytest

from replicator.kafka import errors
from replicator.kafka.cluster import NOBODY, Cluster
from replicator.kafka.messages.metadata import Broker, Metadata, Partition, Topic

ID, ANOTHER = b"\1" * 16, b"\2" * 16


def told(leader: int, leader_epoch: int, topic_id: bytes = ID) -> Metadata:
    return Metadata(0, [Broker(1, "one", 9092)], [Topic("a", 0, topic_id, [Partition(0, 0, leader, leader_epoch)])])


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.want("a")
    made.learn(told(2, 7), 100.0)
    return made


def test_leader_of_an_earlier_epoch_does_not_count(cluster: Cluster) -> None:
    cluster.learn(told(1, 6), 101.0)
    assert cluster.leader(("a", 0)) == 2


@pytest.mark.parametrize("epoch", [7, 8])
def test_leader_of_the_same_or_a_later_epoch_counts(cluster: Cluster, epoch: int) -> None:
    cluster.learn(told(1, epoch), 101.0)
    assert cluster.leader(("a", 0)) == 1


def test_topic_that_was_deleted_and_created_begins_with_the_first_epoch(cluster: Cluster) -> None:
    cluster.learn(told(1, 0, ANOTHER), 101.0)
    assert cluster.leader(("a", 0)) == 1


def test_without_topic_ids_the_last_answer_counts(cluster: Cluster) -> None:
    """Kafka before 2.8: a topic that was deleted and created can't be told from the same one."""
    cluster.learn(told(1, 0, bytes(16)), 101.0)
    assert cluster.leader(("a", 0)) == 1


def test_partition_without_a_leader_is_asked_for_again_soon(cluster: Cluster) -> None:
    cluster.learn(told(NOBODY, 8), 101.0)
    assert cluster.leader(("a", 0)) == NOBODY
    assert cluster.topics_to_ask(101.1) == ["a"]


def test_broker_that_wants_clients_to_bootstrap_again_is_not_asked_at_once(cluster: Cluster) -> None:
    """Its answer names no topic. What was known before still counts."""
    cluster.learn(Metadata(0, [], [], errors.REBOOTSTRAP_REQUIRED), 101.0)
    assert cluster.topics_to_ask(101.0) is None and cluster.topics_to_ask(101.1) == ["a"]
    assert cluster.leader(("a", 0)) == 2 and 1 in cluster.brokers


def test_broker_that_has_just_started_changes_nothing(cluster: Cluster) -> None:
    """It knows neither brokers nor topics (clusters with ZooKeeper)."""
    cluster.learn(Metadata(0, [], [Topic("a", errors.UNKNOWN_TOPIC_OR_PARTITION, bytes(16), [])]), 101.0)
    assert cluster.leader(("a", 0)) == 2 and 1 in cluster.brokers
    assert cluster.topics_to_ask(101.1) == ["a"]
