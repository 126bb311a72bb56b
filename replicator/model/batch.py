"""Batches of records, the unit that travels between the stages; nothing is paid per transaction or object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from replicator.model.filling import Filling
from replicator.model.position import Position

Headers: TypeAlias = tuple[tuple[str, bytes], ...]

Record: TypeAlias = (
    tuple[str, bytes | None, bytes | None, bytes, int, Headers]
    | tuple[str, bytes | None, bytes | None, bytes, int, Headers, bytes]
)
"""(topic, key, value, position, row, headers[, route]). A plain tuple: one is made per row on the hot path.

key: None where the table has no key; value: None is a tombstone; position: the transaction's GTID or `file:offset`,
ASCII; row: 0-based index of the row in its transaction (a delete and its tombstone share it);
headers: extra headers of the format, usually (); route: where there is a seventh, its murmur2 hash chooses the
partition instead of the key's. The sink adds `task`, `epoch`, `position` and `row` to each."""


class Batch(msgspec.Struct):
    """Records in source order and the position after them.

    Attributes:
        records: in the order of the source.
        position: where to resume when everything up to here is delivered. `position.rows > 0` exactly when
            `boundary` is False.
        boundary: True when the batch ends at the end of a transaction.
        rows: row changes in the batch (a delete and its tombstone are one).
        transactions: transactions that end in this batch.
        size: bytes of keys and values.
        source_ms: commit time at the source of the last event, ms since the epoch; 0 when unknown.
        length: bytes in the binlog of the transaction that the batch ends inside of; 0 when unknown.
        skipped: of its transactions, those whose rows are left out because a task has written them.
        barrier: it begins with a statement of the source; everything before it has to be committed first.
        first_ms: the same of the first transaction with records; 0: there is none, or it is unknown.
        filling: tables that a snapshot has not completed; None: no snapshot is open.
    """

    records: Sequence[Record]
    position: Position
    boundary: bool
    rows: int = 0
    transactions: int = 0
    size: int = 0
    source_ms: int = 0
    length: int = 0
    barrier: bool = False
    skipped: int = 0
    filling: Filling | None = None
    first_ms: int = 0
