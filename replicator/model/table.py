"""A table as described by a TABLE_MAP event, with additions from its CREATE TABLE statement.

What an event tells always comes from the event. The rest (how a type was spelled, defaults, comments) comes from the
schema history, and is None where that does not know the table.
"""

from __future__ import annotations

import msgspec


class Declared(msgspec.Struct, frozen=True):
    """A column as its CREATE TABLE or ALTER TABLE spells it.

    Attributes:
        type: upper-case word(s) as written: "BOOL", "INTEGER", "DOUBLE PRECISION", "NATIONAL VARCHAR".
        arguments: the contents of the parentheses: ("10", "2"); members of ENUM and SET unquoted.
        unsigned, zerofill: as written; the servers make a ZEROFILL column unsigned.
        charset, collation: in force for the column (its own, else its table's, else its database's); None for types
            without.
        has_default: there is a DEFAULT clause, or NULL is the implied default.
        default: text of the DEFAULT, unquoted; None for NULL. `CURRENT_TIMESTAMP` and expressions as written.
        default_is_expression: the text is an expression (CURRENT_TIMESTAMP too), not a literal.
        auto_increment, generated ("STORED", "VIRTUAL" or ""), comment: as written.
        on_update: the function behind ON UPDATE as written, "" without.
        spelled: `type` with its letters as written; "" where it is not known.
        default_is_literal: `default` is X'..', 0x.., B'..', 0b.., TRUE or FALSE as written, and not a text of these
            characters. False also where an earlier version has read it.
    """

    type: str
    arguments: tuple[str, ...] = ()
    unsigned: bool = False
    zerofill: bool = False
    charset: str | None = None
    collation: str | None = None
    has_default: bool = False
    default: str | None = None
    default_is_expression: bool = False
    auto_increment: bool = False
    generated: str = ""
    comment: str = ""
    on_update: str = ""
    spelled: str = ""
    default_is_literal: bool = False


class Column(msgspec.Struct, frozen=True):
    """One column of a table version.

    Attributes:
        index: 0-based place in the row image.
        name: real name, UTF-8.
        type: the binlog's type byte (`MYSQL_TYPE_*` of the protocol page "Column types"); for ENUM, SET and STRING the
            real type taken from the metadata.
        meta: the type's metadata as one integer; its layout is the type's own (see `decode/binlog/table_map.py`).
        nullable: may be NULL.
        unsigned: only meaningful for numeric types.
        collation: collation id of character, ENUM and SET columns; 63 is binary; None where the event has none.
        members: ENUM/SET members in definition order, decoded to text; empty for other types.
        geometry: geometry type number (0 GEOMETRY, 1 POINT, ...) or None.
        visible: False for invisible columns.
        dimensions: of a VECTOR column, or None.
        declared: what only the CREATE TABLE says; None where it is not known.
    """

    index: int
    name: str
    type: int
    meta: int = 0
    nullable: bool = True
    unsigned: bool = False
    collation: int | None = None
    members: tuple[str, ...] = ()
    geometry: int | None = None
    visible: bool = True
    dimensions: int | None = None
    declared: Declared | None = None


class Table(msgspec.Struct, frozen=True):
    """One version of a table. `primary_key` are column indexes in key order; empty without a primary key.
    `mariadb` tells renderers apart where the servers' types differ (JSON is text on MariaDB). `charset`: the default of
    the table, and `comment`: both from the schema history, None where that does not know. `unique_key`: column indexes
    of the first UNIQUE key whose columns are all NOT NULL, also from there; empty without one. `omits_generated`: it
    has generated columns, which its server leaves out of updates and deletes."""

    database: str
    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[int, ...] = ()
    mariadb: bool = False
    charset: str | None = None
    comment: str | None = None
    unique_key: tuple[int, ...] = ()
    omits_generated: bool = False

    @property
    def qualified(self) -> str:
        return f"{self.database}.{self.name}"
