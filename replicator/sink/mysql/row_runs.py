"""Joins the row images of records that follow each other and are of one table version and operation.

What comes out is what events of a binlog have in them, without an object for each row where the compiled code runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from replicator import compiled
from replicator.model.batch import Record
from replicator.model.packed_records import PackedRecords
from replicator.model.target_table import OPERATIONS, STATEMENT, UNCHECKED

_LENGTH: Final = 4
"""Bytes of the length of the image before an update."""


class Run(NamedTuple):
    """
    Attributes:
        topic: of its records: a name in `TargetTables`, or `STATEMENT`.
        operation: what the values of its records begin with: a key of `OPERATIONS`, behind `UNCHECKED` or not; b"" for
            what is no row.
        records: how many there are. The runs of a sequence have all of its records, in their order.
        images: row images, one behind the other; of what is no row, its value.
    """

    topic: str
    operation: bytes
    records: int
    images: bytes


def runs(records: Sequence[Record], most: int) -> list[Run]:
    """The records, joined. `most`: bytes of images in a run, unless one record alone has more.

    What is no row is a run of its own, and neighbours of the same version and operation are one run as far as `most`
    allows.
    """
    if isinstance(records, PackedRecords) and compiled.available():
        return list(map(Run._make, compiled.module("row_runs").runs(records.blocks, STATEMENT, most)))
    return list(joined(records, most))


def joined(records: Sequence[Record], most: int) -> Iterator[Run]:
    """The same in Python."""
    topic, operation, parts, size = "", b"", list[bytes](), 0
    for record in records:
        its, images = split(record)
        same = bool(parts) and (topic, operation) == (record[0], its)
        if parts and not (same and operation and size + len(images) <= most):
            yield Run(topic, operation, len(parts), b"".join(parts))
            parts, size = [], 0
        topic, operation = record[0], its
        parts.append(images)
        size += len(images)
    if parts:
        yield Run(topic, operation, len(parts), b"".join(parts))


def split(record: Record) -> tuple[bytes, bytes]:
    """(operation, images) of a record, as `Run` has them."""
    value = record[2] or b""
    head = 2 if value[:1] == UNCHECKED else 1
    kind = OPERATIONS.get(value[head - 1 : head])
    start = head + _LENGTH if kind == "update" else head
    if record[0] == STATEMENT or kind is None or len(value) < start:
        return b"", value
    return value[:head], value[start:]
