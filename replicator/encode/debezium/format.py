"""The Debezium format: plans for rows, and records of statements and transactions."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replicator.config.task import Records
from replicator.encode.debezium import plans, rows, schemas, snapshots, statements
from replicator.encode.literals import literal
from replicator.encode.snapshot_marker import notification
from replicator.encode.topics import Topics
from replicator.model.json_string import quote
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.plan import TablePlan, Text, Variable
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.snapshot_steps import SnapshotBegins, SnapshotEnds, SnapshotStep
from replicator.model.table import Table
from replicator.pipeline.ports import Interest

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]")
_RUN: Final = str(uuid.uuid4())


class Debezium:
    """Plans for one task.

    Insert: one record, op `c`. Update: op `u`; an update of the primary key: `d` and a tombstone for the old key, `c`
    for the new one, joined by headers. Delete: `d` and a tombstone. Without a primary key the key is null.

    Args:
        name: the task's; the connector's logical name unless `topic_prefix` says another.
        server: "mysql" or "mariadb".
    """

    interests: frozenset[Interest]

    def __init__(self, name: str, sink: Records, server: str) -> None:
        options = sink.debezium
        self._options = options
        self._name = options.topic_prefix or name
        self._topic = _UNFIT.sub("_", self._name)
        self._server = server
        self._topics = Topics(sink.topic_template, name)
        parts = {"connectorLogicalName": self._name, "taskId": "0", "connectorName": server, "runId": _RUN}
        self._headers = {f"__debezium.context.{part}": text for part, text in parts.items()}
        if not options.extended_headers_enabled:
            self._headers = {}
        self._truncates = "t" not in options.skipped_operations and options.unwrap is None
        self._beat_ns = 0
        wanted: dict[Interest, bool] = {
            "statement": options.include_schema_changes or self._truncates,
            "transaction": options.provide_transaction_metadata,
            "heartbeat": options.heartbeat_interval_ms > 0,
        }
        self.interests = frozenset(interest for interest, listens in wanted.items() if listens)

    def plan(self, table: Table, topic: str) -> TablePlan:
        return plans.plan(table, topic, self._name, self._options, self._row_headers)

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        """One record, op `r`; `source` says where and when the snapshot began, and by `marker` which row it is."""
        return plans.snapshot_plan(table, topic, self._name, self._options, self._row_headers, marker, moment)

    @property
    def _row_headers(self) -> plans.Headers:
        return tuple((name, (Text(text),)) for name, text in self._headers.items())

    # Statements

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        messages: list[Message] = []
        if self._options.include_schema_changes:
            messages.extend(self._streamed(part, moment) for part in statements.parts(statement))
        if self._truncates:
            messages.extend(self._truncated(*table, moment) for table in statements.truncated(statement))
        return messages

    def _streamed(self, part: statements.Part, moment: Moment) -> Message:
        inside = part.ddl.endswith("START TRANSACTION")  # CREATE TABLE ... SELECT
        source = self._source(part.database, part.tables, moment, moment.thread if inside else None)
        return self._change(part, source, moment.now_ns // 1_000_000)

    def _change(self, part: statements.Part, source: str, now_ms: int) -> Message:
        changes = statements.table_changes(part.change, comments=self._options.include_schema_comments)
        key = f'{{"databaseName":{quote(part.database)}}}'
        value = (
            f'{{"source":{source},"ts_ms":{now_ms},'
            f'"databaseName":{quote(part.database)},"schemaName":null,"ddl":{quote(part.ddl)},"tableChanges":{changes}}}'
        )
        schema = schemas.statement_key(self._server), schemas.statement_value(self._server)
        return self._message(self._topic, key, value, *schema)

    def _truncated(self, database: str, name: str, moment: Moment) -> Message:
        topic, now = self._topics.topic(Table(database, name, ())), moment.now_ns
        value = (
            f'{{"before":null,"after":null,"source":{self._source(database, name, moment)},"transaction":null,"op":"t",'
            f'"ts_ms":{now // 1_000_000},"ts_us":{now // 1000},"ts_ns":{now}}}'
        )
        return self._message(topic, None, value, "", self._envelope(database, name, topic))

    def _envelope(self, database: str, name: str, topic: str) -> str:
        """Schema of the envelope around an event of a table that has no rows."""
        return schemas.envelope((), topic, self._server)

    def _source(self, database: str, table: str | None, moment: Moment, thread: int | None = None) -> str:
        """The block `source` of what is not a row. Debezium knows the thread of transactions alone."""
        known: dict[Variable, str] = {
            "ts_ms": str(moment.ts_us // 1000),
            "ts_us": str(moment.ts_us),
            "ts_ns": str(moment.ts_us * 1000),
            "server_id": str(moment.server_id),
            "gtid": quote(moment.gtid) if moment.gtid else "null",
            "file": quote(moment.file),
            "pos": str(moment.offset),
            "row": "0",
            "thread": "null" if thread is None else str(thread),
        }
        return literal(rows.source(self._server, self._name, database, table), known)

    # Snapshots

    @property
    def defines_tables(self) -> bool:
        return self._options.include_schema_changes

    def snapshot_messages(self, step: SnapshotStep, topic: str, moment: SnapshotMoment) -> Iterator[Message]:
        """Schema changes of all its tables when it begins, a notification at its end."""
        if isinstance(step, SnapshotEnds) and topic:
            key, value = notification(step, self._name)
            yield self._message(topic, key, value, schemas.NOTIFICATION_KEY, schemas.NOTIFICATION_VALUE, headers=False)
        if not isinstance(step, SnapshotBegins) or step.definitions is None or not self.defines_tables:
            return
        known = rows.snapshot_variables(moment)
        for part in snapshots.parts(step.definitions):
            template = rows.source(self._server, self._name, part.database, part.tables, snapshot="true")
            yield self._change(part, literal(template, known), moment.ts_ms)

    # Transactions

    def begin(self, moment: Moment) -> Sequence[Message]:
        return (self._border("BEGIN", "null", "null", moment),) if moment.gtid else ()

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> Sequence[Message]:
        if not moment.gtid:
            return ()
        counts = ",".join(
            f'{{"data_collection":{quote(".".join(name))},"event_count":{count}}}' for name, count in rows.items()
        )
        return (self._border("END", str(sum(rows.values())), f"[{counts}]", moment),)

    def _border(self, status: str, count: str, counts: str, moment: Moment) -> Message:
        key = f'{{"id":{quote(moment.gtid)}}}'
        value = (
            f'{{"status":"{status}","id":{quote(moment.gtid)},"event_count":{count},"data_collections":{counts},'
            f'"ts_ms":{moment.ts_us // 1000}}}'
        )
        schema = schemas.TRANSACTION_KEY, schemas.TRANSACTION_VALUE
        return self._message(f"{self._topic}.transaction", key, value, *schema, headers=False)

    def query(self, text: str, moment: Moment) -> Sequence[Message]:
        return ()

    def heartbeat(self, moment: Moment) -> Sequence[Message]:
        if moment.now_ns - self._beat_ns < self._options.heartbeat_interval_ms * 1_000_000:
            return ()
        self._beat_ns = moment.now_ns
        key, value = f'{{"serverName":{quote(self._name)}}}', f'{{"ts_ms":{moment.now_ns // 1_000_000}}}'
        schema = schemas.HEARTBEAT_KEY, schemas.HEARTBEAT_VALUE
        return (self._message(f"__debezium-heartbeat.{self._topic}", key, value, *schema, headers=False),)

    def _message(
        self, topic: str, key: str | None, value: str, key_schema: str, value_schema: str, *, headers: bool = True
    ) -> Message:
        """`headers`: with those of the connector's context; Debezium leaves them out of what its framework writes."""
        if self._options.schemas_enable:
            key = schemas.wrapped(key_schema) + key + "}" if key is not None else None
            value = schemas.wrapped(value_schema) + value + "}"
        own = tuple((name, text.encode()) for name, text in self._headers.items()) if headers else ()
        return Message(topic, key.encode() if key is not None else None, value.encode(), own)
