"""Options of format debezium, with the names in snake_case and the defaults of the corresponding Debezium options."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from replicator.config.avro import Adjustment, SchemaRegistry
from replicator.config.base import Model

Operation = Literal["c", "u", "d", "t"]


Added = Literal[
    "op", "table", "db", "ts_ms", "source.db", "source.table", "source.ts_ms", "source.ts_us", "source.ts_ns",
    "source.gtid", "source.file", "source.pos", "source.row", "source.server_id", "source.thread", "source.query"
]  # fmt: skip


class Unwrap(Model):
    """Records flattened to the row, as by the transformation ExtractNewRecordState."""

    delete_tombstone_handling_mode: Literal["drop", "tombstone", "rewrite", "rewrite-with-tombstone"] = Field(
        default="tombstone",
        description="record of a delete: none; a tombstone; the row with __deleted: true; both",
    )
    add_fields: tuple[Added, ...] = Field(
        default=(), description="fields of the envelope to add as __NAME, with _ for each point"
    )


class DebeziumOptions(Model):
    converter: Literal["json", "avro"] = Field(
        default="json", description="notation of keys and values (key.converter, value.converter)"
    )
    schema_registry: SchemaRegistry | None = Field(default=None, description="schema registry of converter avro")
    schema_name_adjustment_mode: Adjustment = Field(
        default="avro",
        description="converter avro: replace characters of schema names that Avro does not allow by _ or _uXXXX",
    )
    field_name_adjustment_mode: Adjustment = Field(
        default="avro", description="converter avro: the same for names of columns"
    )
    topic_prefix: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._-]{1,200}$",
        description="logical name: prefix of every topic, and source.name; default: the name of the task",
    )
    decimal_handling_mode: Literal["precise", "string", "double"] = Field(
        default="precise", description="DECIMAL: Base64 of the unscaled value, string, number"
    )
    time_precision_mode: Literal[
        "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
    ] = Field(default="adaptive_time_microseconds", description="unit of DATE, TIME, DATETIME")
    bigint_unsigned_handling_mode: Literal["long", "precise"] = Field(
        default="long", description="BIGINT UNSIGNED: signed number, Base64 of the value"
    )
    binary_handling_mode: Literal["bytes", "base64", "base64-url-safe", "hex"] = Field(
        default="bytes", description="BINARY, VARBINARY, BLOBs as strings; bytes is Base64 in JSON"
    )
    include_query: bool = Field(
        default=False, description="write the statement to source.query (requires binlog_rows_query_log_events)"
    )
    include_schema_changes: bool = Field(default=True, description="write DDL to the topic named like the prefix")
    include_schema_comments: bool = Field(default=False, description="include comments of tables and columns")
    provide_transaction_metadata: bool = Field(
        default=False,
        description="write begin and end of transactions to PREFIX.transaction, and the order of rows in them",
    )
    tombstones_on_delete: bool = Field(default=True, description="write a tombstone after each delete")
    skipped_operations: tuple[Operation, ...] = Field(
        default=("t",), description="operations that are not written: c, u, d, t (TRUNCATE); [] is Debezium's none"
    )
    heartbeat_interval_ms: int = Field(
        default=0,
        ge=0,
        le=86_400_000,
        description="interval of records in __debezium-heartbeat.PREFIX while the source is idle; 0: none",
    )
    schemas_enable: bool = Field(
        default=False, description="write the Connect schema in each key and value (schemas.enable)"
    )
    replace_null_with_default: bool = Field(default=True, description="write the DEFAULT of the column instead of NULL")
    enable_time_adjuster: bool = Field(
        default=True, description="write the years 1 to 99 as 2001 to 2069 and 1970 to 1999"
    )
    extended_headers_enabled: bool = Field(default=True, description="write the headers __debezium.context.*")
    unavailable_value_placeholder: str = Field(
        default="__debezium_unavailable_value",
        description="written for values that are not in the row image (row_image: accept_partial)",
    )
    unwrap: Unwrap | None = Field(default=None, description="write the rows alone, without the envelope")

    @property
    def statements(self) -> bool:
        """Whether the texts of the statements behind rows are wanted."""
        return self.include_query or (self.unwrap is not None and "source.query" in self.unwrap.add_fields)

    @model_validator(mode="after")
    def _sensible(self) -> DebeziumOptions:
        if self.unwrap is not None and self.schemas_enable:
            raise _nonsense("unwrap and schemas_enable", "rows alone are written without schemas", "one of them")
        if {"c", "u", "d"} <= set(self.skipped_operations):
            raise _nonsense("skipped_operations", "no row would be written", "at least one of c, u, d that is written")
        if self.unwrap is not None and self.provide_transaction_metadata:
            raise _nonsense(
                "unwrap and provide_transaction_metadata",
                "without the envelope, there is no field for the order",
                "one of them",
            )
        if (self.converter == "avro") != (self.schema_registry is not None):
            raise _nonsense(
                "converter and schema_registry",
                "converter avro requires a schema registry, and JSON does not use one",
                "converter avro and schema_registry, or neither",
            )
        if self.converter == "avro" and self.schemas_enable:
            raise _nonsense("converter avro and schemas_enable", "the schemas are in the registry", "one of them")
        return self


def _nonsense(what: str, why: str, wanted: str) -> PydanticCustomError:
    error = {"code": "E1003", "what": f"{what}: {why}", "found": "", "wanted": wanted, "fix": ""}
    return PydanticCustomError("replicator", "{what}", error)
