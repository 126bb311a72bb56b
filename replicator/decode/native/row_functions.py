"""Chooses how rows are decoded: by compiled programs, or by generated Python functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from replicator import compiled
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.compiler import Rows
from replicator.decode.plan.row_functions import PYTHON, RowFunctions, copied_images
from replicator.decode.plan.variable_values import Context
from replicator.model.batch import Record

if TYPE_CHECKING:
    from replicator.compiled.arena import Arena
    from replicator.compiled.program import Program


def row_functions() -> RowFunctions:
    """The compiled ones where they run."""
    if not compiled.available():
        return PYTHON
    return RowFunctions(native_rows, _arena, _images)


def _arena(expected: int) -> tuple[Arena, Arena]:
    """Programs take an arena, not a method of it."""
    arena: Arena = compiled.module("arena").Arena(expected)
    return arena, arena


def _images(
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
    """Programs read the images where they are, and give them back while they write: a row of 64 MB is there once."""
    program: type[Program] = compiled.module("program").Program
    if isinstance(rows, program):
        done = rows.of_images(header, images, start, end, row, append, context, spend)
        if done is not None:
            return done
    return copied_images(rows, header, images, start, end, row, append, context, spend=spend)
