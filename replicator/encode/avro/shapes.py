"""The Connect schemas of a table's keys and values, and its columns with names that Avro allows."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.config.avro import Adjustment
from replicator.config.debezium import DebeziumOptions, Unwrap
from replicator.encode.avro import names
from replicator.encode.debezium import rows, schemas
from replicator.errors import DecodeError
from replicator.model.json_string import quote
from replicator.model.table import Table

_STRING: Final = "string"
_ENVELOPE: Final = {"op": schemas.plain(_STRING, "op"), "ts_ms": schemas.plain("int64", "ts_ms", optional=True)}


class Shape(msgspec.Struct, frozen=True):
    """Connect schemas (JSON) of a table's records. `key` None: they have none."""

    key: str | None
    value: str


def shape(table: Table, name: str, options: DebeziumOptions) -> Shape:
    """`name`: what the names of schemas begin with."""
    fields = rows.fields(table, options)
    key = [fields[index] for index in table.primary_key or table.unique_key]
    connector = "mariadb" if table.mariadb else "mysql"
    if options.unwrap is None:
        value = schemas.envelope(fields, name, connector)
    else:
        value = _flat([field.schema for field in fields], name, options.unwrap, schemas.source(connector))
    return Shape(schemas.key(key, name) if key else None, value)


def _flat(columns: list[str], name: str, unwrap: Unwrap, source: str) -> str:
    """Of rows alone. Untouched they keep the optional schema that they have in the envelope."""
    added = []
    if unwrap.delete_tombstone_handling_mode.startswith("rewrite"):
        added.append(schemas.plain(_STRING, "__deleted", optional=True))
    inside = {field["field"]: field for field in msgspec.json.decode(source)["fields"]}
    for path in unwrap.add_fields:
        found = _ENVELOPE.get(path)
        field = msgspec.json.decode(found) if found else inside[path.removeprefix("source.")]
        added.append(msgspec.json.encode({**field, "field": f"__{path.replace('.', '_')}"}).decode())
    return schemas.struct([*columns, *added], name=f"{name}.Value", optional=not added)


def fitting(table: Table, mode: Adjustment) -> Table:
    """The table with names of columns that Avro takes.

    Raises:
        DecodeError: E2307, two columns get one name, or one has a name that is not adjusted and does not fit.
    """
    seen: dict[str, str] = {}
    columns = []
    for column in table.columns:
        name = names.adjusted(column.name, mode)
        if not names.fits(name):
            raise _refused(table, f"Avro does not allow the name {quote(column.name)}", column.name)
        if name in seen:
            raise _refused(table, f"two columns get the name {name}", f"{seen[name]}, {column.name}")
        seen[name] = column.name
        columns.append(msgspec.structs.replace(column, name=name))
    return msgspec.structs.replace(table, columns=tuple(columns))


def _refused(table: Table, what: str, found: str) -> DecodeError:
    return DecodeError(
        "E2307",
        f"columns of {table.qualified} can't be Avro fields: {what}",
        found=found,
        wanted="unique names of letters, digits and _",
        fix="Set `field_name_adjustment_mode: avro_unicode`, or rename the columns with `transforms.rename`.",
    )
