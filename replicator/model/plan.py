"""Plans: how a format wants each row of a table version written, as data.

A format (`encode/`) builds a `TablePlan` once per table version; transforms bend it; the decoder (`decode/`) runs it
for every row, in Python or compiled. The three stages share only this module. A plan is a list of literal bytes and of
(column, renderer) steps, so that an excluded column is a step removed, a mask another renderer and a rename another
literal: they cost nothing per row.
"""

from __future__ import annotations

from typing import Literal as OneOf
from typing import TypeAlias

import msgspec

Image: TypeAlias = OneOf["before", "after"]

Variable: TypeAlias = OneOf[
    "ts_ms", "ts_us", "ts_ns", "now_ms", "now_us", "now_ns", "gtid", "file", "pos", "row", "server_id", "thread"
]
"""Values of the transaction or event that a format may print:
ts_*: commit time at the source (MySQL's immediate_commit_timestamp in the GTID event when there is one, else the
event's timestamp); now_*: the time of decoding; gtid: JSON string of the transaction's GTID or null; file: JSON
string; pos: offset of the row event's first byte; row: index of the row *in its row event*; server_id; thread: number
or null."""


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Literal bytes of the output, given as text."""

    text: str


class Value(msgspec.Struct, frozen=True, tag="value"):
    """The value of a column, printed by a named renderer.

    Attributes:
        column: index in `Table.columns`.
        image: from which row image. For inserts only "after" exists, for deletes only "before".
        renderer: a name of `decode/renderers.py`; it yields a complete JSON value (with quotes) for non-NULL values.
        null: what is written for SQL NULL.
    """

    column: int
    image: Image
    renderer: str
    null: str = "null"


class Var(msgspec.Struct, frozen=True, tag="var"):
    name: Variable


Step: TypeAlias = Text | Value | Var
Template: TypeAlias = tuple[Step, ...]


class RecordPlan(msgspec.Struct, frozen=True):
    """One record that a row becomes. key None: null key; value None: tombstone; headers: (name, template)."""

    key: Template | None
    value: Template | None
    headers: tuple[tuple[str, Template], ...] = ()


class TablePlan(msgspec.Struct, frozen=True):
    """What each operation on a table becomes.

    `rekey` replaces `update` for a row whose `keys` columns differ between the images; None: `update` serves both.
    """

    topic: str
    insert: tuple[RecordPlan, ...]
    update: tuple[RecordPlan, ...]
    delete: tuple[RecordPlan, ...]
    rekey: tuple[RecordPlan, ...] | None = None
    keys: tuple[int, ...] = ()
