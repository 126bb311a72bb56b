"""Options of format canal, with the defaults of the corresponding Canal options."""

from __future__ import annotations

from pydantic import Field

from replicator.config.base import Model


class CanalOptions(Model):
    """`canal.mq.flatMessage`, `canal.instance.gtidon` and `canal.instance.filter.*` of Canal."""

    flat_message: bool = Field(default=True, description="true: JSON; false: protobuf, as read by Canal clients")
    gtidon: bool = Field(default=False, description="write the executed GTID set to `gtid`")
    filter_query_ddl: bool = Field(default=False, description="omit records of DDL")
    filter_query_dml: bool = Field(default=False, description="omit records of the statements that changed rows")
    filter_query_dcl: bool = Field(default=False, description="omit records of CREATE DATABASE and DROP DATABASE")
    filter_transaction_entry: bool = Field(
        default=False, description="protobuf: omit records of the begin and end of transactions"
    )

    @property
    def statements(self) -> bool:
        """Whether the texts of the statements behind rows are wanted."""
        return not self.filter_query_dml
