"""Plans: how a format writes the rows of a table version, as data.

A format (`encode/`) builds a `TablePlan` once per table version; transforms change it; the decoder (`decode/`) runs it
for every row, in Python or compiled. The three stages share only this module. A plan is a list of literal bytes and of
(column, renderer) steps, so that an excluded column is a step removed, a mask another renderer and a rename another
literal: they cost nothing per row.

    Text      literal bytes
    Value     a column of one of the row's images, printed by a renderer
    Var       something of the event or the transaction
    Members   a JSON object of columns of which some may be left out: those that did not change, or are not in the image
    Each      a part that is repeated for every row of the event, in plans that make one record of them all
    Deferred      a part that is only known at the end of the transaction
    RawImage      the bytes of a row image as they are in the binlog, for targets that are databases
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal as OneOf
from typing import TypeAlias

import msgspec

from replicator.model.condition import Filter

Image: TypeAlias = OneOf["before", "after"]

Variable: TypeAlias = OneOf[
    "ts_ms", "ts_us", "ts_ns", "now_ms", "now_us", "now_ns", "event_s", "event_ms", "gtid", "executed", "tsid", "file",
    "pos", "position", "row", "offset", "order", "table_order", "uuid", "server_id", "thread", "query", "unchecked",
    "xid", "end_pos"
]  # fmt: skip
"""Values of the transaction or event that a format may print, as JSON:
ts_*: commit time at the source (MySQL's immediate_commit_timestamp in the GTID event when there is one, else the
event's timestamp); now_*: the time of decoding; event_*: timestamp in the row event's header (`SET timestamp` moves
it); gtid: string of the transaction's GTID or null; tsid: string of what stands in it before the number, or null;
executed: string of the executed GTID set with this transaction in it, or null; file: string; pos: offset of the row
event's first byte; position: string `file:pos`; row: index of the row *in its row event*; offset: 0-based number of the
row in its transaction, over all replicated tables; order: the same, 1-based; table_order: 1-based number among the
transaction's rows of the same table; uuid: string of a UUID that is always the same for a row (see `model.uuids`);
server_id; thread: number or null; query: string of the statement (ROWS_QUERY, ANNOTATE_ROWS) or null; unchecked: null,
or nothing where foreign keys are neither to be checked nor followed (flags of the row event: 0x02, the session had
foreign_key_checks = 0; 0x10, what they cascade to is in the binlog, as MySQL writes it from 9.6 on): only with
`Var.before`.
Known only once the transaction ends, so allowed in `Deferred` alone: xid: number of the XID event, or null; end_pos:
end of the transaction's last event."""


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
        absent: what is written when the row image does not have the column (binlog_row_image MINIMAL, NOBLOB; only
            with `row_image: accept_partial`). A column that is missing after and there before did not change: then
            the value before is written, not this. In keys and routes the column must be there.
    """

    column: int
    image: Image
    renderer: str
    null: str = "null"
    absent: str = "null"


class Var(msgspec.Struct, frozen=True, tag="var"):
    """`before`: text in front of the value; where there is none, neither is written. None: a missing value is null."""

    name: Variable
    before: str | None = None


class Member(msgspec.Struct, frozen=True):
    """`name`: of the member, unquoted text."""

    name: str
    value: Value


class Members(msgspec.Struct, frozen=True, tag="members"):
    """A JSON object, `{` and `}` included, of the members that are there.

    A member whose column the image does not have is left out (see `Value.absent`, which is not used here).

    Attributes:
        changed: only of updates: also leave out those whose value is the same in both images. A column that only the
            image after has counts as changed; one that only the image before has did not change.
        kept: only of updates, image "after": a column that is missing after and there before did not change, and is
            written in its place with the value before, as a `Value` is.
        nulls: False: leave out those that are NULL.
        before, empty: text in front of the object; what is written, without it, when no member is left.
    """

    members: tuple[Member, ...]
    changed: bool = False
    kept: bool = False
    nulls: bool = True
    before: str = ""
    empty: str = "{}"


class Each(msgspec.Struct, frozen=True, tag="each"):
    """The template once for every row of the event, `separator` between them. Only in plans that are `grouped`, where
    members and `row` stand nowhere else; a `Value` behind it is that of the event's last row."""

    template: tuple[Text | Value | Var | Members, ...]
    separator: str = ","


class Deferred(msgspec.Struct, frozen=True, tag="deferred"):
    """What is known only when the transaction ends: its records wait for that, on disk when they are many. At most one
    in a template; the same for all values of a transaction.

    Attributes:
        row: for every row but the transaction's last one. `order` and `offset` are the row's number.
        last: for the last one. Both may print gtid, executed, tsid, file, server_id and thread, too.
    """

    row: tuple[Text | Var, ...]
    last: tuple[Text | Var, ...]


class RawText(msgspec.Struct, frozen=True):
    """A column of a `RawImage` that has another value than in the row; NULL stays NULL.

    Attributes:
        place: in `RawImage.columns`.
        renderer: writes the new value as a JSON string; its characters in UTF-8 are the value's bytes. None: NULL.
        prefix: bytes of the length in front of the new value, 1 to 4.
    """

    place: int
    renderer: str | None
    prefix: int = 4


class RawImage(msgspec.Struct, frozen=True, tag="raw_image"):
    """A row image in the encoding of row events: null bitmap, then the values that are not NULL. Unused bits of the
    bitmap are set, except where the image is copied as a whole and the server has not set them.

    The image must have all of the columns. Not in `Each`, and not in keys that may be deferred.

    Attributes:
        columns: indexes in `Table.columns`, in the order in which they are written.
        sized: write the length of the image in front of it, as four bytes, lowest first.
        texts: columns with another value.
    """

    columns: tuple[int, ...]
    image: Image
    sized: bool = False
    texts: tuple[RawText, ...] = ()


Step: TypeAlias = Text | Value | Var | Members | Each | Deferred | RawImage
Template: TypeAlias = tuple[Step, ...]
Encode: TypeAlias = Callable[[bytes | None, bytes | None], tuple[bytes | None, bytes | None]]
"""(key, value) as the templates wrote them -> as they are sent."""


class RecordPlan(msgspec.Struct, frozen=True):
    """One record that a row becomes. key None: null key; value None: tombstone; headers: (name, template); route: bytes
    that choose the record's partition, None: those of its `TablePlan`, else its key. `Deferred` only stands in key and
    value."""

    key: Template | None
    value: Template | None
    headers: tuple[tuple[str, Template], ...] = ()
    route: Template | None = None


class TablePlan(msgspec.Struct, frozen=True):
    """What each operation on a table becomes.

    `rekey` replaces `update` for a row whose `keys` columns differ between the images; None: `update` serves both.

    Attributes:
        grouped: one record for all rows of an event; its number is that of the first of them.
        route: bytes that choose the partition instead of the key; None: the key does. It prints no values: those
            differ between the records of a row, see `RecordPlan.route`.
        filter: rows for which it does not hold become nothing. They are numbered all the same, so that numbers do
            not depend on it. None: every row.
        encode: for binary formats: called for each record. It must not depend on anything but its arguments. Not
            together with `Deferred`.
    """

    topic: str
    insert: tuple[RecordPlan, ...]
    update: tuple[RecordPlan, ...]
    delete: tuple[RecordPlan, ...]
    rekey: tuple[RecordPlan, ...] | None = None
    keys: tuple[int, ...] = ()
    grouped: bool = False
    route: Template | None = None
    encode: Encode | None = None
    filter: Filter | None = None
