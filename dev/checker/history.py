"""History of writes and reads as plain values, without servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol, TypeAlias

import msgspec

Op: TypeAlias = Literal["c", "u", "d"]
Outcome: TypeAlias = Literal["committed", "unknown", "rolled back"]


class Change(msgspec.Struct, frozen=True, gc=False):
    """One row change of a writer. `counter` rises by one with each change of `key`, over deletes and re-inserts too, so
    that (key, counter) names the change; `serial` rises with each change of the writer."""

    key: int
    counter: int
    serial: int
    op: Op


class Transaction(msgspec.Struct):
    """Changes that were committed together; "unknown": the connection was lost before the answer to COMMIT came."""

    number: int
    changes: list[Change]
    outcome: Outcome
    committed_at: float = 0.0


class Journal(Protocol):
    """The transactions of a writer in the order of their commits: a list, or what keeps them elsewhere."""

    def append(self, transaction: Transaction, /) -> None: ...

    def __iter__(self) -> Iterator[Transaction]: ...

    def __len__(self) -> int: ...


class Seen(msgspec.Struct, frozen=True, gc=False):
    """One change record that a consumer saw (tombstones are not change records).

    For a delete, `counter` is the one of the before image plus 1. `time_ms` is the record's timestamp in Kafka."""

    topic: str
    partition: int
    offset: int
    key: int
    counter: int
    op: Op
    epoch: int
    position: str = ""
    row: int = 0
    time_ms: int = 0


class Role(msgspec.Struct, frozen=True):
    """An interval of effective emission, on one monotonic clock (seconds). `instance`: the process that emitted."""

    instance: str
    epoch: int
    begin: float
    end: float
