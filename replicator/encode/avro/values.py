"""JSON of Connect's values -> Avro's data.

The decoder of a schema is made of Python types, so that msgspec checks and converts in one pass: what is bytes in the
schema comes out of Base64 as bytes.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

import msgspec

from replicator.encode.avro.schema import Connect

_TYPES: Final[dict[str, Any]] = {
    "int8": int,
    "int16": int,
    "int32": int,
    "int64": int,
    "float": float,
    "double": float,
    "boolean": bool,
    "string": str,
    "bytes": bytes,
}
_STRUCT: Final[Any] = TypedDict


def decoder(schema: Connect) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_type(schema))


def _type(schema: Connect) -> Any:
    made = _required(schema)
    return made | None if schema["optional"] else made


def _required(schema: Connect) -> Any:
    if schema["type"] == "struct":
        return _STRUCT("Struct", {field["field"]: _type(field) for field in schema["fields"]})
    if schema["type"] == "array":
        return list.__class_getitem__(_type(schema["items"]))
    return _TYPES[schema["type"]]
