"""Topics of Kafka as a source of a task."""

from __future__ import annotations

from contextlib import closing
from typing import Literal

from replicator.config.kafka_source import KafkaSource, Offsets
from replicator.errors import SourceError
from replicator.kafka.messages import list_offsets
from replicator.model.behind import Behind, behind
from replicator.model.position import Begin, Position
from replicator.model.source_end import SourceEnd
from replicator.source.kafka import topics
from replicator.source.kafka.client import Login, connect
from replicator.source.kafka.stream import TopicStream


class TopicSource:
    """`ports.Source`. Makes connections of its own for each question and each stream, and never reconnects by itself.

    Args:
        login: see `client.Login`.
    """

    def __init__(self, config: KafkaSource, login: Login) -> None:
        self._config = config
        self._login = login

    def start_position(self, begin: Begin | None = None) -> Position:
        start = begin or self._config.start
        if isinstance(start, Offsets):
            return self._given(start)
        return self._at(list_offsets.LAST if start == "latest" else list_offsets.FIRST)

    def end_position(self) -> Position:
        """Behind the last record that is committed."""
        return self._at(list_offsets.LAST)

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        end = self.end_position()
        return SourceEnd(end, behind=behind(delivered, end, {}) if delivered is not None else Behind())

    def _at(self, which: Literal[-1, -2] | int) -> Position:
        with closing(connect(self._config, self._login)) as client:
            found = topics.chosen(client, self._config)
            return topics.position_of(found, topics.ends(client, found.values(), which, committed=True))

    def _given(self, start: Offsets) -> Position:
        """Raises SourceError E2353: they are not of all partitions."""
        with closing(connect(self._config, self._login)) as client:
            found = topics.chosen(client, self._config)
        counts = {name: len(topic.partitions) for name, topic in found.items()}
        given = {name: len(offsets) for name, offsets in start.offsets.items()}
        if counts != given:
            raise SourceError(
                "E2353",
                "source.start does not have an offset for each partition",
                found=_counts(given),
                wanted=_counts(counts),
            )
        return topics.position_of(found, start.offsets)

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        """Brokers do not tell when they delete a record: not known."""
        return None

    def open(self, position: Position) -> TopicStream:
        client = connect(self._config, self._login)
        try:
            found = topics.chosen(client, self._config)
            topics.check_not_compacted(client, found)
            return TopicStream(client, self._config, position, topics.continued(client, found, position))
        except BaseException:
            client.close()
            raise


def _counts(numbers: dict[str, int]) -> str:
    return ", ".join(f"{topic}: {count} partitions" for topic, count in sorted(numbers.items()))[:500]
