"""Chooses how rows are decoded: by compiled programs, or by generated Python functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replicator import compiled
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.row_functions import PYTHON, RowFunctions

if TYPE_CHECKING:
    from replicator.compiled.arena import Arena


def row_functions() -> RowFunctions:
    """The compiled ones where they run."""
    if not compiled.available():
        return PYTHON
    return RowFunctions(native_rows, _arena)


def _arena(expected: int) -> tuple[Arena, Arena]:
    """Programs take an arena, not a method of it."""
    arena: Arena = compiled.module("arena").Arena(expected)
    return arena, arena
