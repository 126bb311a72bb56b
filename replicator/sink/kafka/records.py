"""Records in Kafka's message format v2 (KIP-98), written in one pass from tuples to bytes.

A record is: length, attributes (0), timestamp delta (0), offset delta, key, value, headers; lengths and numbers are
zigzag varints, -1 is null. Only the body of a batch is made here; the 61 bytes of batch header carry the producer's
identity and sequence and are written when the batch leaves (`bulk.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replicator.errors import SinkError
from replicator.model.batch import Headers, Record

BATCH_OVERHEAD = 61
"""Bytes of a batch besides its records; the broker's max.message.bytes counts them too."""

_RECORD_OVERHEAD = 40  # more than the varints of one record and the `row` header take
_OFFSET_BYTES = 3  # of the number in its batch, at most: batches of half a megabyte have fewer than 2**20 records
_LENGTH_BYTES = 5  # of the length in front of it, at most
_NULL = b"\x01"


def unsigned(number: int) -> bytes:
    """A number that is not negative, as varint: 127 -> 7f, 128 -> 80 01."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number: int) -> bytes:
    """A number as zigzag varint: 0 -> 00, -1 -> 01, 1 -> 02, 64 -> 80 01."""
    return unsigned((number << 1) ^ (number >> 63))


_TABLE = tuple(zigzag(number) for number in range(8192))
_TABLE_SIZE = len(_TABLE)


def varint(number: int) -> bytes:
    """`zigzag` by table for what is usual: lengths and offsets below 8192."""
    return _TABLE[number] if 0 <= number < _TABLE_SIZE else zigzag(number)


def header(name: str, value: bytes) -> bytes:
    """One header as it stands in a record."""
    key = name.encode()
    return varint(len(key)) + key + varint(len(value)) + value


def _row(number: int) -> bytes:
    digits = b"%d" % number
    return varint(len(digits)) + digits


_ROWS = tuple(_row(number) for number in range(1024))


class Stamp:
    """The headers `task`, `epoch`, `position` and `row` of one term.

    They come after a record's own headers, so that the block in front of the row number is the same for all records
    of a transaction: it is made once per position.
    """

    def __init__(self, task: str, epoch: int) -> None:
        """`prefix`: `task`, `epoch` and the name of `position`, as they stand in a record."""
        self.task = task.encode()
        self.epoch = b"%d" % epoch
        self._term = header("task", self.task) + header("epoch", self.epoch)
        self.prefix = self._term + _TABLE[8] + b"position"

    def block(self, position: bytes) -> bytes:
        """`task`, `epoch`, `position` and the name of `row`; what is missing is the row number."""
        return self._term + header("position", position) + _TABLE[3] + b"row"

    def headers(self, record: Record) -> list[tuple[str, bytes]]:
        """All headers of a record in order, for the client's own `send`."""
        own = [("task", self.task), ("epoch", self.epoch), ("position", record[3]), ("row", b"%d" % record[4])]
        return [*record[5], *own]


def own_headers(headers: Headers) -> bytes:
    """The count of all headers, then the record's own ones."""
    return varint(4 + len(headers)) + b"".join([header(name, value) for name, value in headers])


def encode(records: Iterable[Record], stamp: Stamp, target: int, most: int) -> Iterator[tuple[int, bytes]]:
    """Records of one partition as bodies of batches: pairs of (number of records, bytes).

    Args:
        target: bytes at which a body is closed; only a single record may be larger.
        most: bytes that one record may have with its headers.

    Raises:
        SinkError: E3102 for a record over `most`; bodies that were yielded before it are complete.
    """
    table, limit, rows = _TABLE, _TABLE_SIZE, len(_ROWS)
    parts: list[bytes] = []
    count = size = 0
    last: bytes | None = None
    block = b""
    for record in records:
        _, key, value, position, row, headers, *_ = record
        if position != last:
            last, block = position, stamp.block(position)
        room = _RECORD_OVERHEAD + len(block) + (len(key) if key else 0) + (len(value) if value else 0)
        own = own_headers(headers) if headers else b"\x08"
        if size + room + len(own) > target and count:
            yield count, b"".join(parts)
            parts, count, size = [], 0, 0
        body = b"\0\0%b%b%b%b%b%b%b%b" % (
            table[count] if count < limit else zigzag(count),
            _NULL if key is None else table[len(key)] if len(key) < limit else zigzag(len(key)),
            key or b"",
            _NULL if value is None else table[len(value)] if len(value) < limit else zigzag(len(value)),
            value or b"",
            own,
            block,
            _ROWS[row] if row < rows else _row(row),
        )
        length = len(body)
        if length + _LENGTH_BYTES > most:
            raise too_large(record, length, most)
        prefix = table[length] if length < limit else zigzag(length)
        parts.append(prefix)
        parts.append(body)
        count += 1
        size += length + len(prefix)
    if count:
        yield count, b"".join(parts)


def size_of(record: Record, stamp: Stamp) -> int:
    """The bytes that decide whether one record is too large: what `encode` counts, wherever it stands in its batch."""
    _, key, value, position, row, headers, *_ = record
    length = 2 + _OFFSET_BYTES + len(own_headers(headers)) + len(stamp.block(position)) + len(_row(row))
    for part in (key, value):
        length += 1 if part is None else len(zigzag(len(part))) + len(part)
    return length + _LENGTH_BYTES


def encode_plain(key: bytes, value: bytes) -> bytes:
    """The body of a batch of one record without headers: the position record."""
    body = b"\0\0\0%b%b%b%b\0" % (varint(len(key)), key, varint(len(value)), value)
    return varint(len(body)) + body


def too_large(record: Record, size: int, most: int) -> SinkError:
    """E3102 with what a person needs to find the row: topic (the table), key, position, row and size."""
    topic, key, _, position, row, *_ = record
    shown = "null" if key is None else key[:200].decode("utf-8", "replace")
    return SinkError(
        "E3102",
        f"a record for topic '{topic}' is too large",
        found=f"{size} bytes, key {shown}, row {row} of its transaction",
        wanted=f"at most {most} bytes (sink.max_record_bytes and the topic's max.message.bytes)",
        fix="Raise both, or set `sink.oversize: dead_letter`: references to such rows then go to another topic.",
        position=position.decode("ascii", "replace"),
        transaction=position.decode("ascii", "replace"),
    )
