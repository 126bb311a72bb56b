"""Values of row images as JSON text, for what a sink records about rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from replicator.decode.renderers import canal_json, rendering
from replicator.decode.renderers.raw_values import renderer
from replicator.model import types
from replicator.model.table import Column, Table
from replicator.model.target_table import TargetTable

_NAMES: Final[dict[int, str]] = {
    **dict.fromkeys(types.INTEGERS, "int"),
    types.YEAR: "year",
    types.BIT: "bit_int",
    types.NEWDECIMAL: "decimal_string",
    types.FLOAT: "float_java",
    types.DOUBLE: "float_java",
    types.ENUM: "enum_or_null",
    types.SET: "set_array",
    types.GEOMETRY: "wkt",
    types.VECTOR: "vector",
    **dict.fromkeys((types.DATE, types.TIME2, types.DATETIME2, types.TIMESTAMP2), "temporal"),
}
_CHARACTERS: Final = types.CHARACTERS | types.BLOBS


def value_text(table: TargetTable, column: Column) -> Callable[[bytes], str]:
    """A function of a value's bytes, without their length -> JSON text. Raises DecodeError: the type has no text."""
    if column.type == types.JSON:
        return canal_json.to_text  # as the server writes it
    binary = column.type in _CHARACTERS and column.collation == types.BINARY_COLLATION
    name = "base64" if binary else _NAMES.get(column.type, "text")
    as_table = Table(table.database, table.name, table.columns, table.primary_key, table.mariadb)
    made = renderer(rendering(name, column, as_table))
    return lambda raw: made(raw).encode("latin-1").decode("utf-8", "replace")
