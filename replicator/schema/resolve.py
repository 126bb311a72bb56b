"""Turns parsed columns into definitions: inherits character sets, makes implied attributes explicit."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model.table import Declared
from replicator.schema import charsets, types
from replicator.schema.charsets import Text
from replicator.schema.ddl_ast import Charset, ColumnSpec
from replicator.schema.definitions import ColumnDefinition

_TEXTS: Final = {1: "TINYTEXT", 2: "TEXT", 3: "MEDIUMTEXT", 4: "LONGTEXT"}
_JSON: Final = Text("utf8mb4", "utf8mb4_bin")


def definition(draft: ColumnSpec, table: Text, *, mariadb: bool) -> ColumnDefinition:
    """`table`: what the columns of its table inherit."""
    declared, nullable = draft.declared, draft.nullable is not False and draft.key != "PRIMARY"
    if types.is_text(declared, mariadb=mariadb):
        text = _JSON if declared.type == "JSON" else charsets.resolve(draft.text, table, mariadb=mariadb)
        declared = msgspec.structs.replace(declared, charset=text.charset, collation=text.collation)
    if nullable and not declared.has_default and not declared.generated and not declared.auto_increment:
        declared = msgspec.structs.replace(declared, has_default=True)
    return ColumnDefinition(draft.name, declared, nullable, draft.visible)


def not_null(column: ColumnDefinition) -> ColumnDefinition:
    """A column of a primary key; a NULL default goes with its nullability."""
    declared = column.declared
    if declared.has_default and declared.default is None and not declared.default_is_expression:
        declared = msgspec.structs.replace(declared, has_default=False)
    return msgspec.structs.replace(column, declared=declared, nullable=False)


def converted(column: ColumnDefinition, text: Text, *, mariadb: bool) -> ColumnDefinition:
    """After CONVERT TO CHARACTER SET. A TEXT grows to the type that holds as many characters as before."""
    declared = column.declared
    if not types.is_text(declared, mariadb=mariadb) or declared.charset == "binary":
        return column
    if types.is_lob(declared):
        declared = _grown(declared, text, mariadb=mariadb)
    declared = msgspec.structs.replace(declared, charset=text.charset, collation=text.collation)
    return msgspec.structs.replace(column, declared=declared)


def _grown(declared: Declared, text: Text, *, mariadb: bool) -> Declared:
    layout = types.layout(declared, mariadb=mariadb)
    prefix = (layout.meta if layout else None) or 2
    before, after = charsets.widest(declared.charset), charsets.widest(text.charset)
    size = ((1 << 8 * prefix) - 1) // before * after
    larger = types.lob_prefix(min(size, (1 << 32) - 1))
    if larger <= prefix:
        return declared
    suffix = " COMPRESSED" if declared.type.endswith(" COMPRESSED") else ""
    return msgspec.structs.replace(declared, type=_TEXTS[larger] + suffix, arguments=(), spelled="")


def inherit(written: Charset, above: Text, *, mariadb: bool) -> Text:
    return charsets.resolve(written, above, mariadb=mariadb)
