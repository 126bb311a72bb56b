"""Row images of a source as those of a table whose columns have another order, or wider types.

A plan has a step for each column of the images at the target, in its order. Nothing is compared here: see
`conversions.py` for which columns may be converted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from replicator import compiled

Kind: TypeAlias = Literal["copy", "little", "big", "prefix", "double", "fraction", "decimal", "latin1"]
"""How a value is converted, by the bytes that it has:

    copy       they stay as they are, with their length
    little     of a number, the lowest byte first: more bytes. `first`: 1, the sign is in the highest bit
    big        more zeros in front
    prefix     behind a length of `given` bytes -> of `stored` bytes
    double     a FLOAT as a DOUBLE
    fraction   of a second: `first` bytes are in front of it; `second`: 1, TIME, which may be negative
    decimal    `first`, `second`: precision << 8 | scale, before and after
    latin1     characters become UTF-8; lengths as `prefix`
"""
KINDS: Final[tuple[Kind, ...]] = ("copy", "little", "big", "prefix", "double", "fraction", "decimal", "latin1")
_GROUP: Final = 9
_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of less than nine digits."""


class Step(NamedTuple):
    """
    Attributes:
        column: index in the images of the source.
        given, stored: bytes of the value at the source and at the target; of values behind a length, bytes of that.
    """

    kind: Kind
    column: int
    given: int = 0
    stored: int = 0
    first: int = 0
    second: int = 0


class Plan(msgspec.Struct, frozen=True):
    """`sizes`: of each column of the source's images, as `net_changes.Layout` has them."""

    sizes: tuple[int, ...]
    steps: tuple[Step, ...]

    @property
    def same(self) -> bool:
        """Images stay as they are."""
        return len(self.steps) == len(self.sizes) and all(
            step.kind == "copy" and step.column == index for index, step in enumerate(self.steps)
        )


class Transcode(Protocol):
    def __call__(self, images: bytes, of_row: int, most: int) -> list[tuple[int, bytes]]:
        """(rows, images of them) in their order.

        Args:
            of_row: images of a row: 2 of updates, else 1.
            most: bytes in a part, unless one row alone has more.

        Raises ValueError: the images do not end where a row ends.
        """


def transcoder(plan: Plan) -> Transcode:
    if compiled.available():
        steps = [(KINDS.index(step.kind), *step[1:]) for step in plan.steps]
        made: Transcode = compiled.module("transcoding").Transcoder(plan.sizes, steps, LATIN1).run
        return made
    return Twin(plan).run


LATIN1: Final = tuple(
    (chr(code) if code in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else bytes((code,)).decode("cp1252")).encode()
    for code in range(256)
)
"""As both servers read it: cp1252, and the codes that it lacks are control characters."""


class Twin:
    """The same in Python."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._bitmap = (len(plan.sizes) + 7) // 8

    def run(self, images: bytes, of_row: int, most: int) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        parts, rows, size, at = list[bytes](), 0, 0, 0
        while at < len(images):
            row = []
            for _ in range(of_row):
                at, image = self._image(images, at)
                row.append(image)
            bytes_ = sum(map(len, row))
            if rows and size + bytes_ > most:
                found.append((rows, b"".join(parts)))
                parts, rows, size = [], 0, 0
            parts += row
            rows += 1
            size += bytes_
        if rows:
            found.append((rows, b"".join(parts)))
        return found

    def _image(self, b: bytes, at: int) -> tuple[int, bytes]:
        """Its end, and what it becomes."""
        at, values = self._values(b, at)
        count = len(self._plan.steps)
        nulls = (1 << 8 * ((count + 7) // 8)) - (1 << count)
        parts = []
        for place, step in enumerate(self._plan.steps):
            value = values[step.column]
            if value is None:
                nulls |= 1 << place
            else:
                parts.append(_CONVERT[step.kind](value, step))
        return at, nulls.to_bytes((count + 7) // 8, "little") + b"".join(parts)

    def _values(self, b: bytes, at: int) -> tuple[int, list[bytes | None]]:
        """With their lengths; None for NULL."""
        if at + self._bitmap > len(b):
            raise ValueError("an image beyond the end of its run")
        nulls = int.from_bytes(b[at : at + self._bitmap], "little")
        at += self._bitmap
        found: list[bytes | None] = []
        for column, size in enumerate(self._plan.sizes):
            if nulls >> column & 1:
                found.append(None)
                continue
            length = size if size >= 0 else -size + int.from_bytes(b[at : at - size], "little")
            if at + length > len(b) or (size < 0 and at - size > len(b)):
                raise ValueError("an image beyond the end of its run")
            found.append(b[at : at + length])
            at += length
        return at, found


def _little(value: bytes, step: Step) -> bytes:
    signed = bool(step.first)
    return int.from_bytes(value, "little", signed=signed).to_bytes(step.stored, "little", signed=signed)


def _prefix(value: bytes, step: Step) -> bytes:
    text = value[step.given :]
    return len(text).to_bytes(step.stored, "little") + text


def _latin1(value: bytes, step: Step) -> bytes:
    text = b"".join(LATIN1[code] for code in value[step.given :])
    return len(text).to_bytes(step.stored, "little") + text


def _double(value: bytes, step: Step) -> bytes:
    (number,) = struct.unpack("<f", value)
    return struct.pack("<d", number)


def _fraction(value: bytes, step: Step) -> bytes:
    """Each byte of a fraction has two digits. That of a negative time is negative, too."""
    head, rest = value[: step.first], value[step.first :]
    more = step.stored - step.given
    number = int.from_bytes(rest, "big")
    if step.second and number and head[0] < 0x80:
        number -= 1 << 8 * len(rest)
    size = len(rest) + more
    scaled: int = number * 100**more % (1 << 8 * size)
    return head + scaled.to_bytes(size, "big")


def _decimal(value: bytes, step: Step) -> bytes:
    """Groups of nine digits in four bytes, from the point to both sides; negative numbers have all bits inverted."""
    (digits, scale), (precision, more) = divmod(step.first, 256), divmod(step.second, 256)
    negative = not value[0] & 0x80
    plain = bytes((value[0] ^ 0x80, *value[1:]))
    if negative:
        plain = bytes(byte ^ 0xFF for byte in plain)
    whole, part = _read(plain, digits - scale, scale)
    packed = _written(whole.rjust(precision - more, "0"), part.ljust(more, "0"))
    if negative:
        packed = bytes(byte ^ 0xFF for byte in packed)
    return bytes((packed[0] ^ 0x80, *packed[1:]))


def _groups(whole: int, part: int) -> list[int]:
    """Digits of each group."""
    (more, rest), (behind, last) = divmod(whole, _GROUP), divmod(part, _GROUP)
    return [*([rest] if rest else []), *[_GROUP] * (more + behind), *([last] if last else [])]


def _read(plain: bytes, whole: int, part: int) -> tuple[str, str]:
    text, at = "", 0
    for digits in _groups(whole, part):
        size = _DIGITS[digits]
        text += str(int.from_bytes(plain[at : at + size], "big")).rjust(digits, "0")
        at += size
    return text[:whole], text[whole:]


def _written(whole: str, part: str) -> bytes:
    text, at, found = whole + part, 0, []
    for digits in _groups(len(whole), len(part)):
        found.append(int(text[at : at + digits]).to_bytes(_DIGITS[digits], "big"))
        at += digits
    return b"".join(found)


_CONVERT: Final[dict[Kind, Callable[[bytes, Step], bytes]]] = {
    "copy": lambda value, step: value,
    "little": _little,
    "big": lambda value, step: bytes(step.stored - step.given) + value,
    "prefix": _prefix,
    "double": _double,
    "fraction": _fraction,
    "decimal": _decimal,
    "latin1": _latin1,
}
