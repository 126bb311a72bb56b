"""Converts Connect schemas to Avro schemas, as Confluent's AvroConverter does.

What Avro has no type for is in properties: `connect.name`, `connect.version`, `connect.parameters`, `connect.type`,
`connect.default`, `connect.doc`. A default is given twice, in the field and in its type; its bytes are ISO-8859-1 text.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Connect: TypeAlias = Mapping[str, Any]
"""A Connect schema as its JSON converter writes it."""
Avro: TypeAlias = Any

_CONNECT: Final = "org.apache.kafka.connect.data."
_TYPES: Final = {
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
}
_LOGICAL: Final = {
    f"{_CONNECT}Decimal": "decimal",
    f"{_CONNECT}Date": "date",
    f"{_CONNECT}Time": "time-millis",
    f"{_CONNECT}Timestamp": "timestamp-millis",
}
_PRECISION: Final = 64
"""Of decimals whose schema does not say one, as BIGINT UNSIGNED's."""


def avro(schema: Connect) -> Avro:
    """The Avro schema as JSON data; its members in the order in which Avro's Java library prints them."""
    return _Conversion().any(schema)


class _Conversion:
    """One schema. A record is written in full where it comes first, and by name wherever it comes again."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def any(self, schema: Connect, inside: str = "") -> Avro:
        """`inside`: the namespace that names are relative to."""
        plain = self._struct(schema, inside) if schema["type"] == "struct" else self._plain(schema, inside)
        if not schema["optional"]:
            return plain
        return [plain, "null"] if schema.get("default") is not None else ["null", plain]

    def _struct(self, schema: Connect, inside: str) -> Avro:
        full: str = schema["name"]
        namespace, _, name = full.rpartition(".")
        if full in self._seen:
            return name if namespace == inside else full
        self._seen.add(full)
        made: dict[str, Any] = {"type": "record", "name": name}
        if namespace != inside:
            made["namespace"] = namespace
        made["fields"] = [self._field(field, namespace) for field in schema["fields"]]
        return {**made, **_properties(schema)}

    def _field(self, field: Connect, namespace: str) -> Avro:
        made = {"name": field["field"], "type": self.any(field, namespace)}
        if field.get("default") is not None:
            made["default"] = _default(field)
        elif field["optional"]:
            made["default"] = None
        return made

    def _plain(self, schema: Connect, inside: str) -> Avro:
        kind = schema["type"]
        made: dict[str, Any] = {"type": "array", "items": None} if kind == "array" else {"type": _TYPES[kind]}
        if kind == "array":
            made["items"] = self.any(schema["items"], inside)
        logical = _LOGICAL.get(schema.get("name", ""))
        if logical == "decimal":
            parameters = schema["parameters"]
            made["scale"] = int(parameters["scale"])
            made["precision"] = int(parameters.get("connect.decimal.precision", _PRECISION))
        made |= _properties(schema)
        if logical is not None:
            made["logicalType"] = logical
        return made if len(made) > 1 else made["type"]


def _properties(schema: Connect) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in ("doc", "version", "parameters"):
        if name in schema:
            made[f"connect.{name}"] = schema[name]
    if schema.get("default") is not None:
        made["connect.default"] = _default(schema)
    if "name" in schema:
        made["connect.name"] = schema["name"]
    if schema["type"] in ("int8", "int16"):
        made["connect.type"] = schema["type"]
    return made


def _default(schema: Connect) -> Any:
    value = schema["default"]
    return b64decode(value).decode("latin-1") if schema["type"] == "bytes" else value
