"""Refuses records whose order is not known."""

from __future__ import annotations

from replicator.decode.topics.rows import Writer
from replicator.errors import DecodeError
from replicator.model.topic_frames import RecordFrame


class Order:
    """Of one stream. Partitions have no order among each other: all changes of a row have to be in one of them, and all
    changes of a table that has other unique keys.

    Args:
        one_partition_per_table: see `config.kafka_source.KafkaSource`; else the source compares keys and partitions.
    """

    def __init__(self, *, one_partition_per_table: bool) -> None:
        self._one = one_partition_per_table
        self._homes: dict[tuple[str, str], tuple[str, int]] = {}

    def check(self, database: str, table: str, writer: Writer, frame: RecordFrame, partitions: int) -> None:
        """`partitions`: of the topic. Raises DecodeError E2354, without a position."""
        home = self._homes.get((database, table))
        if home is None:
            if partitions > 1 and not self._one and writer.spread_problem:
                raise _unknown(
                    database,
                    table,
                    f"{writer.spread_problem}, in a topic of {partitions} partitions",
                    "one partition, or a table whose only unique key is a primary key of numbers, times or bytes",
                )
            home = self._homes[database, table] = frame.topic, frame.partition
        if home[0] != frame.topic:
            raise _unknown(
                database, table, f"records in topics {home[0]} and {frame.topic}", "one topic for each table"
            )
        if self._one and home[1] != frame.partition:
            found = f"records in partitions {home[1]} and {frame.partition} of topic {frame.topic}"
            raise _unknown(database, table, found, "one partition for each table: source.one_partition_per_table")


def _unknown(database: str, table: str, found: str, wanted: str) -> DecodeError:
    name = f"{database}.{table}"
    return DecodeError("E2354", f"the order of changes of {name} is not known", found=found, wanted=wanted, table=name)
