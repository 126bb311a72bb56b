"""`TablePlan.encode`, for formats that are not text."""

from __future__ import annotations

from replicator.model.batch import Record
from replicator.model.plan import Encode


def encode(records: list[Record], first: int, function: Encode) -> int:
    """Replaces the keys and values of the records from `first` on; gives their bytes."""
    size = 0
    for at in range(first, len(records)):
        record = records[at]
        key, value = function(record[1], record[2])
        records[at] = (record[0], key, value, *record[3:])
        size += len(key or b"") + len(value or b"")
    return size
