"""What decodes rows: a compiler of row functions, and what these put records into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from replicator.decode.plan.compiler import compile_rows
from replicator.decode.plan.table_versions import Compile
from replicator.model.batch import Record


class RowFunctions(msgspec.Struct, frozen=True):
    """
    Attributes:
        compile: makes the function of a plan and a table, as `compile_rows` does.
        collect: bytes that are expected -> an empty sequence of records, of which a slice is a `Sequence[Record]`, and
            what the functions take as its `append`.
    """

    compile: Compile
    collect: Callable[[int], tuple[Any, Callable[[Record], None]]]


def _list(expected: int) -> tuple[list[Record], Callable[[Record], None]]:
    records: list[Record] = []
    return records, records.append


PYTHON: Final = RowFunctions(compile_rows, _list)
