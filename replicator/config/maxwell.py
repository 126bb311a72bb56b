"""Options of format maxwell, with the names and defaults of the corresponding Maxwell options."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from replicator.config.annotated import checked
from replicator.config.base import Model
from replicator.config.names import check_topic

DdlTopic = Annotated[str, Field(min_length=1), checked(check_topic)]


class MaxwellOptions(Model):
    """The `output_*` and `kafka_*` options of Maxwell."""

    kafka_key_format: Literal["hash", "array"] = Field(
        default="hash", description='hash: {"database","table","pk.COLUMN"}; array: ["database","table",[{"COLUMN"}]]'
    )
    producer_partition_by: Literal["database", "table", "primary_key", "transaction_id"] = Field(
        default="database",
        description="what selects the partition of a record; for columns, use transforms.partition_by",
    )
    output_commit_info: bool = Field(
        default=True, description="write xid, xoffset and commit; false: rows do not wait for their commit"
    )
    output_xoffset: bool = Field(
        default=True, description="xoffset: number of the row in its transaction, except for the last row"
    )
    output_nulls: bool = Field(default=True, description="false: omit columns that are NULL")
    output_null_zerodates: bool = Field(default=False, description="write dates with a zero year, month or day as null")
    output_binlog_position: bool = Field(default=False, description="position: file:offset of the row's event")
    output_gtid_position: bool = Field(default=False, description="gtid: of the transaction")
    output_server_id: bool = Field(default=False, description="server_id: of the server that executed the change")
    output_thread_id: bool = Field(default=False, description="thread_id: of the session that executed it")
    output_schema_id: bool = Field(
        default=False, description="schema_id: a number that changes with the table's definition"
    )
    output_primary_keys: bool = Field(default=False, description="primary_key: array of the key's values")
    output_primary_key_columns: bool = Field(default=False, description="primary_key_columns: array of their names")
    output_row_query: bool = Field(default=False, description="query: the statement, if the binlog contains it")
    output_ddl: bool = Field(default=False, description="records of CREATE, ALTER, DROP of databases and tables")
    ddl_kafka_topic: DdlTopic | None = Field(
        default=None,
        description="topic of DDL, a template with {task}, {database}, {table}; default: the topic of the rows",
    )

    @property
    def statements(self) -> bool:
        """Whether the texts of the statements behind rows are wanted."""
        return self.output_row_query
