"""Writes the definition of a column as SQL."""

from __future__ import annotations

from replicator.model.table import Column, Declared
from replicator.schema.rewrite.names import NoRewrite, quoted

_BY_HAND = "Change the table at the target as the source has it; then `replicator task skip NAME`."


def literal(text: str) -> str:
    """Under any sql_mode but NO_BACKSLASH_ESCAPES, which is not set for statements that we write."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def column_text(column: Column) -> str:
    """Raises NoRewrite for a generated column, whose expression is not kept."""
    declared = column.declared
    if declared is None or declared.generated:
        raise NoRewrite(f"the definition of the column {column.name} is not known completely", _BY_HAND)
    parts = [quoted(column.name), _type(declared)]
    if declared.charset and declared.charset != "binary":
        parts.append(f"CHARACTER SET {declared.charset}")
        parts += [f"COLLATE {declared.collation}"] if declared.collation else []
    parts.append("NULL" if column.nullable else "NOT NULL")
    parts += _default(declared)
    parts += [f"ON UPDATE {declared.on_update}"] if declared.on_update else []
    parts += ["AUTO_INCREMENT"] if declared.auto_increment else []
    parts += [] if column.visible else ["INVISIBLE"]
    parts += [f"COMMENT {literal(declared.comment)}"] if declared.comment else []
    return " ".join(parts)


def _type(declared: Declared) -> str:
    arguments = declared.arguments
    if declared.type in ("ENUM", "SET"):
        arguments = tuple(map(literal, arguments))
    text = declared.type + (f"({','.join(arguments)})" if arguments else "")
    return text + (" UNSIGNED" if declared.unsigned else "") + (" ZEROFILL" if declared.zerofill else "")


def _default(declared: Declared) -> list[str]:
    if not declared.has_default:
        return []
    if declared.default is None:
        return ["DEFAULT NULL"]
    raw = declared.default_is_expression or declared.default_is_literal
    return [f"DEFAULT {declared.default if raw else literal(declared.default)}"]
