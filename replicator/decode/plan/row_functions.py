"""What decodes rows: a compiler of row functions, and what these put records into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from replicator.decode.plan.compiler import Rows, compile_rows
from replicator.decode.plan.table_versions import Compile
from replicator.decode.plan.variable_values import Context
from replicator.model.batch import Record


class DecodeImages(Protocol):
    def __call__(
        self,
        rows: Rows,
        header: bytes,
        images: bytes,
        start: int,
        end: int,
        row: int,
        append: Callable[[Record], None],
        context: Context,
        *,
        spend: bool,
    ) -> tuple[int, int]:
        """Calls a row function for row images that follow each other without the header of an event.

        spend: nobody reads the images afterwards, also if this raises: what they have may be lost.
        """
        ...


class RowFunctions(msgspec.Struct, frozen=True):
    """
    Attributes:
        compile: makes the function of a plan and a table, as `compile_rows` does.
        collect: bytes that are expected -> an empty sequence of records, of which a slice is a `Sequence[Record]`, and
            what the functions take as its `append`.
        images: see `DecodeImages`.
    """

    compile: Compile
    collect: Callable[[int], tuple[Any, Callable[[Record], None]]]
    images: DecodeImages


def copied_images(
    rows: Rows,
    header: bytes,
    images: bytes,
    start: int,
    end: int,
    row: int,
    append: Callable[[Record], None],
    context: Context,
    *,
    spend: bool,
) -> tuple[int, int]:
    """`DecodeImages` for any row function: an event is made of the images."""
    del spend  # the event has a copy of them
    body = header + images[start:end]
    return rows(body, body.decode("latin-1"), 0, len(body), row, append, context)


def _list(expected: int) -> tuple[list[Record], Callable[[Record], None]]:
    records: list[Record] = []
    return records, records.append


PYTHON: Final = RowFunctions(compile_rows, _list, copied_images)
