"""Configuration of a sink that is a MySQL or MariaDB server."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from replicator.config.conflicts import ConflictChoice
from replicator.config.database_server import Address, DatabaseServer
from replicator.config.ddl import DdlChoice, DdlRules
from replicator.errors import ConfigError

FORMAT: Final = "row_images"
_DIVIDED_BYTES: Final = 4 << 20


class MySQLSink(DatabaseServer):
    """Rows, position and epoch are written in one transaction of the target. Which table a row goes to is a matter of
    `transforms.rename`; there are no topics.

    `format`, `statements`, `topic_template`: as `Records` has them, for code that is the same for all sinks.
    """

    section: ClassVar = "sink"
    format: ClassVar[Literal["row_images"]] = FORMAT
    statements: ClassVar[bool] = False
    topic_template: ClassVar[str] = "{database}.{table}"

    @property
    def most_commit_bytes(self) -> int | None:
        """Of transactions that are committed together; None: no less than the task says. A commit is divided among
        connections while it is in memory as a whole."""
        return _DIVIDED_BYTES if self.order == "key" else None

    type: Literal["mysql", "mariadb"] = Field(description="type of the sink")
    hosts: tuple[Address, ...] = Field(
        (),
        max_length=20,
        description=(
            "instead of host and port: host:port of the servers of one replication group; rows are written to the "
            "writable server, and to another one when it fails"
        ),
    )
    user: str = Field(
        min_length=1,
        description="account that writes rows; `replicator check` shows the privileges that it lacks",
    )
    apply: Literal["auto", "binlog", "sql"] = Field(
        "auto",
        description=(
            "how rows are applied: binlog executes row images by the BINLOG statement, which needs REPLICATION_APPLIER "
            "(MariaDB: BINLOG REPLAY); sql writes INSERT, UPDATE and DELETE, which is slower, and needs a key and no "
            "triggers; auto: binlog where the account has the privilege, else sql"
        ),
    )
    load_data: bool = Field(
        True,
        description=(
            "where rows are applied by SQL, insert many rows of a table by LOAD DATA LOCAL, from memory, if the server "
            "has local_infile = ON; false: by INSERT"
        ),
    )
    order: Literal["transaction", "key"] = Field(
        "transaction",
        description=(
            "transaction: one connection applies the changes in the order of the source, and the target always shows a "
            "past state of it; key: while the task is behind, several connections do, which is faster: changes of a "
            "row, and of rows with equal unique values, keep their order, but for some milliseconds readers may see a "
            "part of a commit alone"
        ),
    )
    connections: int = Field(
        4, ge=2, le=32, description="connections that write rows, with `order: key`; opened when they are needed first"
    )
    ddl: DdlChoice = Field(
        DdlRules(),
        description=(
            "statements that change replicated tables: apply executes them at the target, stop stops the task, ignore "
            "passes over them; or {create_table, alter_table, ...} with one of these for each kind"
        ),
    )
    conflict: ConflictChoice = Field(
        "stop",
        description=(
            "rows of the target that are not what the source says they were: stop, source_wins, keep_target or "
            "dead_letter for all tables; or one or several rules {tables, policy, column, compare}, of which the first "
            "whose tables match applies: stop without one"
        ),
    )
    keep_conflicts: int = Field(
        10_000,
        ge=1,
        le=10_000_000,
        description=(
            "rows of the task in the table replicator_conflicts, about: the oldest are deleted; of dead_letter none "
            "is, and more of them stop the task"
        ),
    )
    existing_rows: Literal["refuse", "keep", "replace"] = Field(
        "refuse",
        description=(
            "rows that the target has where a snapshot fills a table: refuse stops a task that begins with a snapshot "
            "before any row is written; replace: rows of the source replace those with the same key; keep: the "
            "target's rows stay until they change at the source. Later snapshots replace rows unless this is keep; "
            "rows that only the target has stay"
        ),
    )
    create_tables: bool = Field(
        False,
        description=(
            "create databases and tables that the target lacks, from the source's definitions, when a task begins and "
            "when rows of an added table arrive"
        ),
    )
    position_database: str = Field(
        "replicator",
        min_length=1,
        max_length=64,
        description="database of the target with the table replicator_position, which has the task's position",
    )
    create_position_table: bool = Field(
        True, description="create this database and table if they are missing; false: the task stops as FAILED"
    )
    max_packet_bytes: int = Field(
        16 << 20,
        ge=1 << 16,
        le=1 << 30,
        description="maximum size of a packet sent to the target; never more than its max_allowed_packet",
    )
    statement_timeout_s: float = Field(
        60, ge=1, le=86_400, description="seconds to wait for the answer to a transaction or statement"
    )
    ddl_timeout_s: float = Field(
        86_400, ge=1, le=2_592_000, description="seconds to wait for the end of a statement such as ALTER TABLE"
    )
    lock_wait_timeout_s: int = Field(
        10, ge=1, le=3600, description="seconds to wait for a row or table lock before the transaction is repeated"
    )


def check_supported(sink: MySQLSink, source: dict[str, Any], transforms: dict[str, Any]) -> None:
    """`source`, `transforms`: of the task. Raises ConfigError E3441 for keys that make no sense with this sink."""
    refused = (
        (
            "source.row_image: accept_partial",
            source["row_image"] == "accept_partial",
            "complete row images: the target is given every column of a row",
        ),
        (
            "source.snapshot.marker_topic",
            source["snapshots"].marker_topic is not None,
            "no marker_topic: there are no topics; `task snapshot status` shows from where on the copy is consistent",
        ),
        (
            "source.snapshot.where",
            source["snapshots"].first and bool(source["snapshots"].where),
            "transforms.filter, which leaves the changes of these rows out, too",
        ),
        (
            "source.snapshot.without_key: read",
            source["snapshots"].first and source["snapshots"].without_key == "read",
            "without_key: fail or skip: rows of a table without a key can't be distinguished",
        ),
        ("transforms.route", bool(transforms["route"]), "transforms.rename, which maps databases and tables"),
        ("transforms.partition_by", bool(transforms["partition_by"]), "no partition_by: there are no partitions"),
    )
    for key, given, wanted in refused:
        if given:
            raise ConfigError("E3441", f"{key} is not supported by sinks of type {sink.type}", found=key, wanted=wanted)
