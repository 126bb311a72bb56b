"""Connect's JSON schemas, written before each payload when `schemas_enable` is set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from replicator.encode.debezium.rows import Field
from replicator.model.json_string import quote


def struct(fields: Iterable[str], *, name: str, version: int = 0, optional: bool = False, field: str = "") -> str:
    """The JSON of a struct's schema; `fields`: JSON objects; `version` 0 and `field` "" are left out."""
    end = (f',"version":{version}' if version else "") + (f',"field":"{field}"' if field else "")
    flag = "true" if optional else "false"
    return f'{{"type":"struct","fields":[{",".join(fields)}],"optional":{flag},"name":{quote(name)}{end}}}'


def plain(kind: str, field: str, *, optional: bool = False) -> str:
    return f'{{"type":"{kind}","optional":{"true" if optional else "false"},"field":"{field}"}}'


def wrapped(schema: str) -> str:
    """What is in front of a payload; a brace closes it."""
    return f'{{"schema":{schema},"payload":'


def key(fields: Iterable[Field], topic: str) -> str:
    return struct((field.schema for field in fields), name=f"{topic}.Key")


def envelope(fields: Iterable[Field], topic: str, connector: str) -> str:
    columns = [field.schema for field in fields]
    return struct(
        (
            struct(columns, name=f"{topic}.Value", optional=True, field="before"),
            struct(columns, name=f"{topic}.Value", optional=True, field="after"),
            source(connector),
            _TRANSACTION,
            plain("string", "op"),
            *_CLOCK,
        ),
        name=f"{topic}.Envelope",
        version=2,
    )


_SNAPSHOT: Final = (
    '{"type":"string","optional":true,"name":"io.debezium.data.Enum","version":1,"parameters":{"allowed":'
    '"true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},"default":"false",'
    '"field":"snapshot"}'
)
_CLOCK: Final = tuple(plain("int64", name, optional=True) for name in ("ts_ms", "ts_us", "ts_ns"))
_TRANSACTION: Final = struct(
    (plain("string", "id"), plain("int64", "total_order"), plain("int64", "data_collection_order")),
    name="event.block",
    version=1,
    optional=True,
    field="transaction",
)


def source(connector: str) -> str:
    fields = (
        plain("string", "version"),
        plain("string", "connector"),
        plain("string", "name"),
        plain("int64", "ts_ms"),
        _SNAPSHOT,
        plain("string", "db"),
        plain("string", "sequence", optional=True),
        *_CLOCK[1:],
        plain("string", "table", optional=True),
        plain("int64", "server_id"),
        plain("string", "gtid", optional=True),
        plain("string", "file"),
        plain("int64", "pos"),
        plain("int32", "row"),
        plain("int64", "thread", optional=True),
        plain("string", "query", optional=True),
    )
    return struct(fields, name=f"io.debezium.connector.{connector}.Source", version=1, field="source")


def _array(items: str, field: str, *, optional: bool = False) -> str:
    return f'{{"type":"array","items":{items},"optional":{"true" if optional else "false"},"field":"{field}"}}'


_TEXT: Final = '{"type":"string","optional":false}'
_COLUMN: Final = struct(
    (
        plain("string", "name"),
        plain("int32", "jdbcType"),
        plain("int32", "nativeType", optional=True),
        plain("string", "typeName"),
        plain("string", "typeExpression", optional=True),
        plain("string", "charsetName", optional=True),
        plain("int32", "length", optional=True),
        plain("int32", "scale", optional=True),
        plain("int32", "position"),
        plain("boolean", "optional", optional=True),
        plain("boolean", "autoIncremented", optional=True),
        plain("boolean", "generated", optional=True),
        plain("string", "comment", optional=True),
        plain("string", "defaultValueExpression", optional=True),
        _array(_TEXT, "enumValues", optional=True),
    ),
    name="io.debezium.connector.schema.Column",
    version=1,
)
_TABLE: Final = struct(
    (
        plain("string", "defaultCharsetName", optional=True),
        _array(_TEXT, "primaryKeyColumnNames", optional=True),
        _array(_COLUMN, "columns"),
        plain("string", "comment", optional=True),
    ),
    name="io.debezium.connector.schema.Table",
    version=1,
    optional=True,
    field="table",
)
_CHANGE: Final = struct(
    (plain("string", "type"), plain("string", "id"), _TABLE), name="io.debezium.connector.schema.Change", version=1
)


def statement_key(connector: str) -> str:
    return struct(
        (plain("string", "databaseName"),), name=f"io.debezium.connector.{connector}.SchemaChangeKey", version=1
    )


def statement_value(connector: str) -> str:
    fields = (
        source(connector),
        plain("int64", "ts_ms"),
        plain("string", "databaseName", optional=True),
        plain("string", "schemaName", optional=True),
        plain("string", "ddl", optional=True),
        _array(_CHANGE, "tableChanges"),
    )
    return struct(fields, name=f"io.debezium.connector.{connector}.SchemaChangeValue", version=1)


TRANSACTION_KEY: Final = struct(
    (plain("string", "id"),), name="io.debezium.connector.common.TransactionMetadataKey", version=1
)
_COLLECTION: Final = struct(
    (plain("string", "data_collection"), plain("int64", "event_count")), name="event.collection", version=1
)
TRANSACTION_VALUE: Final = struct(
    (
        plain("string", "status"),
        plain("string", "id"),
        plain("int64", "event_count", optional=True),
        _array(_COLLECTION, "data_collections", optional=True),
        plain("int64", "ts_ms"),
    ),
    name="io.debezium.connector.common.TransactionMetadataValue",
    version=1,
)
HEARTBEAT_KEY: Final = struct(
    (plain("string", "serverName"),), name="io.debezium.connector.common.ServerNameKey", version=1
)
HEARTBEAT_VALUE: Final = struct((plain("int64", "ts_ms"),), name="io.debezium.connector.common.Heartbeat", version=1)
NOTIFICATION_KEY: Final = struct(
    (plain("string", "id"),), name="io.debezium.connector.common.NotificationKey", version=1
)
NOTIFICATION_VALUE: Final = struct(
    (
        *(plain("string", name) for name in ("id", "type", "aggregate_type")),
        '{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"string","optional":false},'
        '"optional":true,"field":"additional_data"}',
        plain("int64", "timestamp"),
    ),
    name="io.debezium.connector.common.Notification",
    version=1,
)
