"""Divides the records of a batch into sections whose changes can be joined without a look at each run of them.

With 1-row transactions the operation or the table changes with nearly every record. A `Run` for each would be most of
the work of a commit, and where the changes of a table are joined, nothing of it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from replicator import compiled
from replicator.model.batch import Record
from replicator.model.packed_records import PackedRecords
from replicator.model.target_table import STATEMENT
from replicator.sink.mysql.row_runs import Run, runs, split

_SNAPSHOT_ROW: Final = b"R"


class TopicChanges(NamedTuple):
    """Of one topic in a section.

    Attributes:
        runs, updates: how many `runs` there would be of it, and how many of these are updates.
        size: bytes of its images.
    """

    topic: str
    runs: int
    updates: int
    size: int


class Section(NamedTuple):
    """Records that follow each other.

    Attributes:
        mark: what the operations of all of them have in front: `UNCHECKED` or b""; None: some are neither inserts nor
            updates nor deletes.
        topics: none without a mark.
    """

    records: Sequence[Record]
    mark: bytes | None
    topics: tuple[TopicChanges, ...]


class Changes(NamedTuple):
    """Those of one topic in a section with a mark."""

    section: Section
    topic: str

    @property
    def runs(self) -> Iterator[Run]:
        """In their order."""
        return (run for run in runs(self.section.records, _ALL) if run.topic == self.topic)


_ALL: Final = 1 << 62


def sections(records: Sequence[Record], most: int) -> list[Section]:
    """All of the records, in their order. `most`: bytes of images in a section with a mark, unless one record alone has
    more."""
    if not (isinstance(records, PackedRecords) and compiled.available()):
        return list(divided(records, most))
    found = compiled.module("row_runs").sections(records.blocks, STATEMENT, most)
    return [
        Section(PackedRecords(blocks), mark, tuple(map(TopicChanges._make, topics))) for blocks, mark, topics in found
    ]


def divided(records: Sequence[Record], most: int) -> Iterator[Section]:
    """The same in Python."""
    part, mark, size = list[Record](), None, 0
    for record in records:
        operation, images = split(record)
        its = None if operation[-1:] in (b"", _SNAPSHOT_ROW) else operation[:-1]
        if part and (its != mark or (its is not None and size + len(images) > most)):
            yield _section(part, mark)
            part, size = [], 0
        mark = its
        part.append(record)
        size += len(images)
    if part:
        yield _section(part, mark)


def _section(records: Sequence[Record], mark: bytes | None) -> Section:
    if mark is None:
        return Section(records, None, ())
    found: dict[str, TopicChanges] = {}
    before: tuple[str, bytes] | None = None
    for record in records:
        operation, images = split(record)
        known = found.get(record[0], TopicChanges(record[0], 0, 0, 0))
        new = (record[0], operation) != before
        before = record[0], operation
        found[record[0]] = TopicChanges(
            record[0], known.runs + new, known.updates + (new and operation[-1:] == b"U"), known.size + len(images)
        )
    return Section(records, mark, tuple(found.values()))
