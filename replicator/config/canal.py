"""Options of format canal: each with its counterpart's default."""

from __future__ import annotations

from pydantic import Field

from replicator.config.base import Model


class CanalOptions(Model):
    """`canal.mq.flatMessage`, `canal.instance.gtidon` and `canal.instance.filter.*` of Canal."""

    flat_message: bool = Field(default=True, description="JSON; false: protobuf, as Canal's own clients read it")
    gtidon: bool = Field(default=False, description="put the executed GTID set into `gtid`")
    filter_query_ddl: bool = Field(default=False, description="no records of DDL")
    filter_query_dml: bool = Field(default=False, description="no records of the statements behind row changes")
    filter_query_dcl: bool = Field(default=False, description="no records of CREATE DATABASE and DROP DATABASE")
    filter_transaction_entry: bool = Field(
        default=False, description="protobuf: no records of where transactions begin and end"
    )

    @property
    def statements(self) -> bool:
        """Whether the texts of the statements behind rows are wanted."""
        return not self.filter_query_dml
