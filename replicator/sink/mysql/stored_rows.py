"""The rows of a run as the target stores them: as they are, or with their images converted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from replicator.model.batch import Record
from replicator.model.target_table import OPERATIONS
from replicator.sink.mysql.row_groups import Route, Rows
from replicator.sink.mysql.row_runs import Run, split

_LENGTH = 4


def stored(route: Route, run: Run, records: Sequence[Record], first: int, most: int) -> Iterator[Rows]:
    """Args:
    most: bytes of images in each, unless one row alone has more.
    """
    if route.transcode is None:
        yield Rows(route, run, records, first)
        return
    converted = ConvertedRecords(records, route)
    for count, images in route.transcode(run.images, _of_row(run.operation), most):
        yield Rows(route, Run(run.topic, run.operation, count, images), converted, first)
        first += count


def _of_row(operation: bytes) -> int:
    return 2 if OPERATIONS[operation[-1:]] == "update" else 1


class ConvertedRecords(Sequence[Record]):
    """Records of which those of the route are converted when they are asked for, which is rare."""

    def __init__(self, records: Sequence[Record], route: Route) -> None:
        self._records = records
        self._route = route

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...

    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        if isinstance(index, slice):
            return [self._converted(record) for record in self._records[index]]
        return self._converted(self._records[index])

    def _converted(self, record: Record) -> Record:
        operation, images = split(record)
        transcode = self._route.transcode
        if transcode is None or not operation:
            return record
        if _of_row(operation) == 1:
            value = operation + _images(transcode(images, 1, 0))
        else:
            size = int.from_bytes((record[2] or b"")[len(operation) : len(operation) + _LENGTH], "little")
            before, after = (_images(transcode(image, 1, 0)) for image in (images[:size], images[size:]))
            value = operation + len(before).to_bytes(_LENGTH, "little") + before + after
        return (record[0], record[1], value, *record[3:])


def _images(parts: Sequence[tuple[int, bytes]]) -> bytes:
    return b"".join(images for _, images in parts)
