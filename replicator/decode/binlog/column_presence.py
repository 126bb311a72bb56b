"""Reads which columns the row images of an event contain (binlog_row_image).

An event begins with the number of columns of its table and one bitmap per image; the bits left over are set, mostly.
Every image of a row then has a bit per column *that is present* to mark NULLs, and the values of those. MySQL's
INSERT ... () VALUES () can have none: such an event has no bytes behind the bitmaps, and is one row. (The server itself
fails to log more of them, with error 1534.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NoReturn, TypeAlias

import msgspec

from replicator.errors import DecodeError
from replicator.model.plan import Image
from replicator.model.table import Table

Operation: TypeAlias = Literal["insert", "update", "delete"]
IMAGES: Final[dict[Operation, tuple[Image, ...]]] = {
    "insert": ("after",),
    "update": ("before", "after"),
    "delete": ("before",),
}


class Presence(msgspec.Struct, frozen=True):
    """`columns`: bit per column, for each image that the operation has."""

    columns: Mapping[Image, int]

    def has(self, image: Image, column: int) -> bool:
        return bool(self.columns.get(image, 0) >> column & 1)

    @property
    def none(self) -> bool:
        """No image has any column."""
        return not any(self.columns.values())

    def source(self, image: Image, column: int) -> Image | None:
        """Where the column's value in `image` is. One that is missing after and there before did not change."""
        if self.has(image, column):
            return image
        return "before" if self.has("before", column) else None


def every_column(table: Table, operation: Operation) -> Presence:
    return Presence(dict.fromkeys(IMAGES[operation], _every(table)))


def packed(number: int) -> bytes:
    """A length-encoded integer."""
    return bytes((number,)) if number < 251 else b"\xfc" + number.to_bytes(2, "little")


def usual_header(table: Table, operation: Operation) -> bytes:
    """What is in front of the rows when every column is present."""
    columns = len(table.columns)
    return packed(columns) + b"\xff" * ((columns + 7) // 8 * len(IMAGES[operation]))


def parse(table: Table, operation: Operation, header: bytes, *, accept_partial: bool) -> Presence:
    """The slow look at a row event's header that is not the usual one.

    Raises:
        DecodeError: E2302 for another number of columns; E2304 for columns that are absent, unless accepted.
    """
    count, usual = packed(len(table.columns)), usual_header(table, operation)
    if len(header) != len(usual) or not header.startswith(count):
        damaged(f"it does not have the {len(table.columns)} columns of its table map")
    size = (len(table.columns) + 7) // 8
    every = _every(table)
    found: dict[Image, int] = {}
    for number, image in enumerate(IMAGES[operation]):
        start = len(count) + number * size
        found[image] = int.from_bytes(header[start : start + size], "little") & every
        if found[image] != every and not accept_partial:
            _refuse_without_generated(table, found[image])
            fix = "Or accept such rows with `source.row_image: accept_partial`. "
            refuse(table, "lacks columns", _absent(table, found[image])[0], fix)
    return Presence(found)


def refuse(table: Table, what: str, absent: str, fix: str = "") -> NoReturn:
    """Raises DecodeError E2304. `what` happened to a row that lacks the column `absent`; `fix`: another way out."""
    raise DecodeError(
        "E2304",
        f"a row of {table.qualified} {what}",
        found=f"no '{absent}' (binlog_row_image MINIMAL or NOBLOB in that session)",
        wanted="binlog_row_image = FULL",
        fix="SET GLOBAL binlog_row_image = 'FULL'; set it in open sessions, or reconnect them; "
        f"then create a new task, because these rows are not complete in the binlog. {fix}".rstrip(),
    )


def _refuse_without_generated(table: Table, present: int) -> None:
    """Raises DecodeError E2304 if all that is absent is generated: then the server's settings are right."""
    absent = [column for column in table.columns if not present >> column.index & 1]
    if not all(column.declared is not None and column.declared.generated for column in absent):
        return
    names = ", ".join(column.name for column in absent)
    raise DecodeError(
        "E2304",
        f"a row of {table.qualified} lacks generated columns",
        found=f"no {names}: MariaDB from 11.8.9 on leaves generated columns out of updates and deletes",
        wanted="rows with every column",
        fix="Set `source.row_image: accept_partial`, and exclude the columns with a rule in `transforms.columns`: "
        f"tables: [{table.qualified}], exclude: [{names}].",
        table=table.qualified,
    )


def damaged(what: str) -> NoReturn:
    raise DecodeError("E2302", f"a row event can't be read: {what}", wanted="complete rows")


def _every(table: Table) -> int:
    return (1 << len(table.columns)) - 1


def _absent(table: Table, present: int) -> Sequence[str]:
    return [column.name for column in table.columns if not present >> column.index & 1]
