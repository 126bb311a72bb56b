"""Frames of topics -> batches of row images, with the position behind them."""

from __future__ import annotations

from collections.abc import Callable

from replicator.decode.topics.changes import Form, RowChange
from replicator.decode.topics.order import Order
from replicator.decode.topics.rows import Writers
from replicator.errors import DecodeError, ReplicatorError
from replicator.model.batch import Batch, Record
from replicator.model.position import Position
from replicator.model.target_table import UNCHECKED
from replicator.model.topic_frames import PlaceFrame, RecordFrame, split
from replicator.model.topic_offsets import TopicOffsets
from replicator.pipeline.ports import Watcher


class TopicDecoder:
    """`ports.Decoder`. Each record is a transaction of its own: a position may be behind any of them.

    Args:
        position: where the stream was opened.
        form: of the format.
        wanted: (database, table) -> whether its rows are replicated.
    """

    more = False
    between = True

    def __init__(
        self, position: Position, form: Form, writers: Writers, order: Order, wanted: Callable[[str, str], bool]
    ) -> None:
        self._next = {one.topic: list(one.next) for one in position.topics}
        self._ids = {one.topic: one.id for one in position.topics}
        self._form = form
        self._order = order
        self._writers = writers
        self._wanted = wanted
        self._left = bytearray()
        self._error: ReplicatorError | None = None

    def feed(self, data: bytes) -> list[Batch]:
        if self._error is not None:
            raise self._error
        self._left += data
        records: list[Record] = []
        at = rows = source_ms = first_ms = transactions = 0
        while (found := split(self._left, at)) is not None:
            frame, end = found
            if isinstance(frame, RecordFrame):
                try:
                    change = self._change(frame)
                    made = self._records(frame, change) if change is not None else []
                except ReplicatorError as error:
                    self._error = error
                    break
                transactions += 1
                rows += bool(made)
                records += made
                source_ms = change.source_ms if change is not None else source_ms
                first_ms = first_ms or (source_ms if made else 0)
            self._advance(frame)
            at = end
        del self._left[:at]
        if not at and self._error is not None:
            raise self._error
        if not at:
            return []
        size = sum(len(record[2] or b"") for record in records)
        return [Batch(records, self._position(), True, rows, transactions, size, source_ms, first_ms=first_ms)]

    def watch(self, watcher: Watcher | None) -> None:
        if watcher is not None:
            raise ValueError("a source of topics has no snapshots")

    def end(self) -> None:
        if self._error is not None:
            raise self._error

    def _change(self, frame: RecordFrame) -> RowChange | None:
        """Tombstones say nothing that the record of the delete has not said."""
        if frame.value is None:
            return None
        try:
            change = self._form.change(frame.value)
        except DecodeError as error:
            raise _at(error, frame) from error
        return change if change is not None and self._wanted(change.database, change.table) else None

    def _records(self, frame: RecordFrame, change: RowChange) -> list[Record]:
        """Of a row that has another key now: first the one with the former key is deleted."""
        where = f"{frame.topic}:{frame.partition}:{frame.offset}".encode()
        before, after = change.before, change.after
        try:
            row = after if after is not None else before
            assert row is not None, "a change has a row"  # noqa: S101
            writer = self._writers.of(change.database, change.table, row)
            writer.check_key(self._form.key(frame.key))
            self._order.check(change.database, change.table, writer, frame, len(self._next[frame.topic]))
            values = []
            if after is None:
                values.append((b"D", writer.image(row)))
            else:
                image = writer.image(after)
                if before is not None and any(
                    bytes(before[name]) != bytes(after[name]) for name in writer.key if name in before
                ):
                    values.append((b"D", writer.image(before)))
                values.append((b"I", image))
        except DecodeError as error:
            raise _at(error, frame) from error
        return [
            (writer.topic, None, UNCHECKED + operation + image, where, number, ())
            for number, (operation, image) in enumerate(values)
        ]

    def _advance(self, frame: RecordFrame | PlaceFrame) -> None:
        following = frame.offset + 1
        if isinstance(frame, PlaceFrame):
            following = frame.offset
            self._ids[frame.topic] = frame.id
        offsets = self._next.setdefault(frame.topic, [])
        offsets += [0] * (frame.partition + 1 - len(offsets))
        offsets[frame.partition] = following

    def _position(self) -> Position:
        return Position.of_topics(
            tuple(
                TopicOffsets(topic, tuple(offsets), self._ids.get(topic, "")) for topic, offsets in self._next.items()
            )
        )


def _at(error: DecodeError, frame: RecordFrame) -> DecodeError:
    fields = {**error.to_dict(), "position": f"{frame.topic}:{frame.partition}:{frame.offset}"}
    return DecodeError(fields.pop("code"), fields.pop("what"), **fields)
