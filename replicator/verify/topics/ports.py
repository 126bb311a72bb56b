"""What the comparison of a source with topics needs of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from replicator.model.position import Position
from replicator.verify.compare import KeyValue
from replicator.verify.topics.columns import Columns, Values
from replicator.verify.topics.states import Change, Emptied
from replicator.verify.verifier import Wanted


class TopicTable(msgspec.Struct, frozen=True):
    """
    Attributes:
        name: database and table, as records have them.
        topic: that the task writes the table's records to.
        partitions: of the topic.
        excluded: columns that records do not have, with the reason.
        expired: partitions that have lost their first records, for people; "": none.
        complete: rows without a record are missing.
    """

    wanted: Wanted
    columns: Columns
    name: tuple[str, str]
    topic: str
    partitions: int = 1
    excluded: dict[str, str] = {}
    expired: str = ""
    complete: bool = False


class SourceRow(msgspec.Struct, frozen=True):
    """A row of the source. `key`: its key, as `SourceRows.rows` takes it; `values`: as the task would write them."""

    key: KeyValue
    values: Values


class SourceRows(Protocol):
    """Raises SourceUnavailable, SourceError, DecodeError; TableAltered where a table has another definition."""

    def scan(self, table: TopicTable) -> Iterator[list[SourceRow]]:
        """All rows that the task's filters let pass, in pieces."""
        ...

    def rows(self, table: TopicTable, keys: Sequence[KeyValue], passed: Position) -> Iterator[SourceRow]:
        """Those with the keys, and perhaps others. Everything before `passed` is seen where the server can prove it."""
        ...

    def key_of(self, table: TopicTable, values: Values) -> KeyValue | None:
        """Of a record; None: its values can't be read back."""
        ...

    def reconnect(self) -> None: ...


class Records(Protocol):
    """Committed records of the tables' topics. Raises SinkUnavailable, SinkError, DecodeError."""

    def following(self) -> Iterator[tuple[int, int, Sequence[Change | Emptied]]]:
        """(number of the partition, offset, what it says) of the records behind those of the last call, up to the ends
        that the partitions have now."""
        ...

    def at(self, places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, Sequence[Change | Emptied]]]:
        """Those of some partitions and offsets, in this order, as far as they can be read."""
        ...
