"""Records of the schema history, and definitions as a server prints them."""

from __future__ import annotations

from typing import Literal

import msgspec

from replicator.model.position import Position


class SchemaRecord(msgspec.Struct, frozen=True):
    """One record of a task's schema history.

    Attributes:
        kind: base: all definitions as of `position`, and everything before it obsolete; read: definitions of some
            tables, read from the server at `position`; ddl: what one statement changed; set: supplied by an operator.
        position: base, read and set: from where on it holds. ddl: start of the statement's transaction.
        gtid: of that transaction, "" without.
        digest: of a statement's text, so that a replay is recognised.
        text: the statement's beginning, for people.
        data: definitions, as `replicator.schema.record_codec` packs them.
        scope: base and read: the patterns of the tables that the task followed from there on; None: not said.
        ahead: base: records that it keeps of those before it: definitions that hold from a later position, statements
            behind its position, and what operators supplied.
    """

    kind: Literal["base", "read", "ddl", "set"]
    position: Position
    gtid: str = ""
    digest: str = ""
    text: str = ""
    data: bytes = b""
    scope: tuple[str, ...] | None = None
    ahead: tuple[SchemaRecord, ...] = ()


class BinlogStatement(msgspec.Struct, frozen=True):
    """A statement in the binlog. `position`: start of its transaction; `gtid`: of that, "" without."""

    database: str
    text: str
    position: Position
    gtid: str = ""


class TableText(msgspec.Struct, frozen=True):
    """`text`: of SHOW CREATE TABLE; None: the table is there and may not be read."""

    database: str
    name: str
    text: str | None


class ServerDefinitions(msgspec.Struct, frozen=True):
    """A server's definitions.

    Attributes:
        position: what was executed before they were read.
        end: where the log ended behind that. Statements between the two may be in the definitions or not.
        databases: name -> (character set, collation); "" is the server's own default.
        folded: names are stored in lower case (lower_case_table_names is 1 or 2).
    """

    position: Position
    tables: tuple[TableText, ...]
    databases: dict[str, tuple[str, str]]
    end: Position | None = None
    folded: bool = False
