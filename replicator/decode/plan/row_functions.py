"""What decodes rows: a compiler of row functions, and what these put records into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from replicator.decode.plan.compiler import compile_rows
from replicator.decode.plan.table_versions import Compile


class RowFunctions(msgspec.Struct, frozen=True):
    """
    Attributes:
        compile: makes the function of a plan and a table, as `compile_rows` does.
        collect: bytes that are expected -> an empty sequence of records with `append`, for the functions to fill. A
            slice of it is a `Sequence[Record]`.
    """

    compile: Compile
    collect: Callable[[int], Any]


PYTHON: Final = RowFunctions(compile_rows, lambda expected: [])
