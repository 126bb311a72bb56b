"""The partitions for which a batch waits.

kafka-python's sender looks at every partition that it has ever written to, and at every one that a broker leads, each
time it comes around: with 300 topics of four partitions 5 ms of CPU for each request. Here it is shown those only that
have something to send, which are few whatever a task has written to before.
"""

from __future__ import annotations

from typing import Any

from kafka.structs import TopicPartition


class Waiting:
    """In front of an accumulator.

    Args:
        cluster: whom it asks for the leaders.
    """

    def __init__(self, accumulator: Any, cluster: Any) -> None:
        self._accumulator = accumulator
        self._cluster = cluster
        self._drain = accumulator.drain_batches_for_one_node
        accumulator.drain_batches_for_one_node = self._drain_waiting

    def partitions_for_broker(self, node: Any) -> list[TopicPartition]:
        """Asked by the accumulator, in the place of the cluster."""
        leader = self._cluster.leader_for_partition
        return [place for place in list(self._accumulator._batches) if leader(place) == node]

    def _drain_waiting(self, cluster: Any, node_id: Any, max_size: int, now: float | None = None) -> Any:
        batches = self._drain(self, node_id, max_size, now=now)
        for batch in batches:
            self._forget(batch.topic_partition)
        return batches

    def _forget(self, place: TopicPartition) -> None:
        """Where nothing waits any more."""
        accumulator = self._accumulator
        with accumulator._tp_lock(place):
            if not accumulator._batches[place]:
                del accumulator._batches[place]
