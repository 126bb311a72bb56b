"""What the schema history reads and keeps. Definitions are opaque here: `replicator.schema` makes them."""

from __future__ import annotations

from typing import Literal

import msgspec

from replicator.model.position import Position


class SchemaRecord(msgspec.Struct, frozen=True):
    """One record of a task's schema history.

    Attributes:
        kind: base: all definitions as of `position`, and everything before it obsolete; ddl: what one statement
            changed; set: what an operator told us.
        position: base and set: from where on it holds. ddl: start of the statement's transaction.
        gtid: of that transaction, "" without.
        digest: of a statement's text, so that a replay is recognised.
        text: the statement's beginning, for people.
        data: definitions, as `replicator.schema.codec` packs them.
    """

    kind: Literal["base", "ddl", "set"]
    position: Position
    gtid: str = ""
    digest: str = ""
    text: str = ""
    data: bytes = b""


class TableText(msgspec.Struct, frozen=True):
    """`text`: of SHOW CREATE TABLE; None: the table is there and may not be read."""

    database: str
    name: str
    text: str | None


class Reading(msgspec.Struct, frozen=True):
    """A server's definitions at one position.

    Attributes:
        position: as of when they hold.
        databases: name -> (character set, collation); "" is the server's own default.
        folded: names are stored in lower case (lower_case_table_names is 1 or 2).
        named: the server logs column names now (binlog_row_metadata = FULL).
    """

    position: Position
    tables: tuple[TableText, ...]
    databases: dict[str, tuple[str, str]]
    folded: bool = False
    named: bool = True
