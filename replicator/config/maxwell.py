"""Options of format maxwell: each with its counterpart's name and default."""

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
        default="database", description="records that share a partition; by columns: transforms.partition_by"
    )
    output_commit_info: bool = Field(
        default=True, description="xid, xoffset and commit; false: no row waits for its commit"
    )
    output_xoffset: bool = Field(
        default=True, description="xoffset: number of the row in its transaction, but for the last"
    )
    output_nulls: bool = Field(default=True, description="false: columns that are NULL are left out")
    output_null_zerodates: bool = Field(default=False, description="dates with a zero year, month or day are null")
    output_binlog_position: bool = Field(default=False, description="position: file:offset of the row's event")
    output_gtid_position: bool = Field(default=False, description="gtid: of the transaction")
    output_server_id: bool = Field(default=False, description="server_id: of the server where the change was made")
    output_thread_id: bool = Field(default=False, description="thread_id: of the session that made it")
    output_schema_id: bool = Field(
        default=False, description="schema_id: a number that changes with the table's definition"
    )
    output_primary_keys: bool = Field(default=False, description="primary_key: array of the key's values")
    output_primary_key_columns: bool = Field(default=False, description="primary_key_columns: array of their names")
    output_row_query: bool = Field(default=False, description="query: the statement, where the binlog has it")
    output_ddl: bool = Field(default=False, description="records of CREATE, ALTER, DROP of databases and tables")
    ddl_kafka_topic: DdlTopic | None = Field(
        default=None, description="template of {task}, {database}, {table}; default: that of the rows"
    )

    @property
    def statements(self) -> bool:
        """Whether the texts of the statements behind rows are wanted."""
        return self.output_row_query
