"""Rows of a prepared statement's answer: taken from the socket in large reads, and split into the bytes of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from replicator.mysql.binary_values import extent
from replicator.mysql.prepared import Answer
from replicator.mysql.table_key import WIDTHS
from replicator.verify.compare import Row

_READ: Final = 1 << 18
_FULL: Final = 0xFFFFFF
_EOF, _ERROR, _EOF_BYTES = 0xFE, 0xFF, 8
_SIGNED: Final = frozenset({1, 2, 3, 8, 9})


def packets(answer: Answer) -> Iterator[list[bytes]]:
    """The packets of all rows, in lists of those that came together. The answer is closed behind the last one.

    Raises SourceUnavailable, SourceError and their like of a sink: as `Session.rows`.
    """
    buffer = bytearray(_READ)
    rest, parts = b"", list[bytes]()
    while True:
        with memoryview(buffer) as view:
            size = answer.receive_into(view)
            data = rest + bytes(view[:size])
        found, at, end = list[bytes](), 0, len(data)
        while end - at >= 4:
            length = int.from_bytes(data[at : at + 3], "little")
            behind = at + 4 + length
            if behind > end:
                if length > _READ:
                    data, at = _whole(answer, data[at:], length), 0
                    end, behind = len(data), 4 + length
                else:
                    break
            payload = data[at + 4 : behind]
            at = behind
            if length == _FULL:
                parts.append(payload)
                continue
            if parts:
                payload = b"".join((*parts, payload))
                parts.clear()
            elif payload[0] == _EOF and length <= _EOF_BYTES:
                if found:
                    yield found
                answer.close()
                return
            elif payload[0] == _ERROR:
                raise answer.failed(payload)
            found.append(payload)
        rest = data[at:]
        if found:
            yield found


def _whole(answer: Answer, begun: bytes, length: int) -> bytes:
    """A long packet, read into one piece of memory."""
    whole = bytearray(4 + length)
    whole[: len(begun)] = begun
    at = len(begun)
    with memoryview(whole) as view:
        while at < len(whole):
            with view[at:] as room:
                at += answer.receive_into(room)
    return bytes(whole)


def parser(sent: Sequence[int], integers: Sequence[bool | None]) -> Callable[[bytes], Row]:
    """Splits packets into values.

    Args:
        sent: types of the columns.
        integers: for each column None, or whether its integers are signed: they get eight bytes, as servers send one
            expression in different widths.
    """
    widths = tuple(WIDTHS.get(kind) for kind in sent)
    grown = tuple(
        None if signed is None or kind not in _SIGNED else signed for kind, signed in zip(sent, integers, strict=True)
    )
    first, columns = 1 + (len(widths) + 9) // 8, tuple(zip(widths, grown, strict=True))

    def parse(packet: bytes) -> Row:
        nulls, at = int.from_bytes(packet[1:first], "little") >> 2, first
        values: list[bytes | None] = []
        for width, signed in columns:
            if nulls & 1:
                values.append(None)
            else:
                if width is None:
                    start, at = extent(packet, at)
                else:
                    start, at = at, at + width
                value = packet[start:at]
                values.append(value if signed is None else _eight(value, signed=signed))
            nulls >>= 1
        return tuple(values)

    return parse


def _eight(value: bytes, *, signed: bool) -> bytes:
    filler = b"\xff" if signed and value[-1] & 0x80 else b"\0"
    return value.ljust(8, filler)
