"""A table as one TABLE_MAP event describes it. Everything comes from the event, nothing from information_schema."""

from __future__ import annotations

import msgspec


class Column(msgspec.Struct, frozen=True):
    """One column of a table version.

    Attributes:
        index: 0-based place in the row image.
        name: real name, UTF-8.
        type: the binlog's type byte (`MYSQL_TYPE_*` of the protocol page "Column types"); for ENUM, SET and STRING the
            real type taken from the metadata.
        meta: the type's metadata as one integer; its layout is the type's own (see `decode/tablemap.py`).
        nullable: may be NULL.
        unsigned: only meaningful for numeric types.
        collation: collation id of character, ENUM and SET columns; 63 is binary; None where the event has none.
        members: ENUM/SET members in definition order, decoded to text; empty for other types.
        geometry: geometry type number (0 GEOMETRY, 1 POINT, ...) or None.
        visible: False for invisible columns.
        dimensions: of a VECTOR column, or None.
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


class Table(msgspec.Struct, frozen=True):
    """One version of a table. `primary_key` are column indexes in key order; empty without a primary key.
    `mariadb` tells renderers apart where the servers' types differ (JSON is text on MariaDB)."""

    database: str
    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[int, ...] = ()
    mariadb: bool = False

    @property
    def qualified(self) -> str:
        return f"{self.database}.{self.name}"
