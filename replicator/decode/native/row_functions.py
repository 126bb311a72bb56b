"""Chooses how rows are decoded: by compiled programs, or by generated Python functions."""

from __future__ import annotations

from replicator import compiled
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.row_functions import PYTHON, RowFunctions


def row_functions() -> RowFunctions:
    """The compiled ones where they run."""
    if not compiled.available():
        return PYTHON
    return RowFunctions(native_rows, compiled.module("arena").Arena)
