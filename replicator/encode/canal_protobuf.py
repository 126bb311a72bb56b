"""Canal's protobuf messages (`flat_message: false`): one record is a packet with one entry.

The plan writes a row event as JSON (`_Event`), which `TablePlan.encode` makes into the packet: names and types come
from the table, values from the plan, so that what transforms do to values is done here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from replicator.config.task import Records
from replicator.encode import canal_messages as proto
from replicator.encode import canal_rows
from replicator.encode.canal_layout import layout
from replicator.encode.canal_rows import Row
from replicator.encode.canal_statements import Report, Statements
from replicator.encode.literals import with_literals
from replicator.model.decoding import json_decoder
from replicator.model.encoding import CanalEntries
from replicator.model.json_string import quote
from replicator.model.metadata_event import Message, Moment
from replicator.model.plan import Each, Image, RecordPlan, TablePlan, Template, Text, Value, Var, Variable
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Table

_EVENTS: Final = proto.ENUMS["EventType"]
_ENTRIES: Final = proto.ENUMS["EntryType"]
_INSERT, _UPDATE, _DELETE = _EVENTS["INSERT"], _EVENTS["UPDATE"], _EVENTS["DELETE"]
_ABSENT: Final = "false"
"""For a column that the row image does not have: no value is printed like this."""


class _Event(msgspec.Struct):
    """A row event as the plan writes it. `rows`: (before, after), a list of every column's value or null for none."""

    type: int
    file: str
    pos: int
    server_id: int
    ms: int
    executed: str | None
    gtid: str | None
    rows: list[tuple[Row | None, Row | None]]


_decode: Final = json_decoder(_Event).decode


class CanalProtobuf(Statements):
    """Entries of Canal's protobuf protocol: row events, statements, and where transactions begin and end, unless tables
    have topics of their own."""

    def __init__(self, name: str, sink: Records, server: str) -> None:
        super().__init__(name, sink, server)
        if not self._options.filter_transaction_entry and not self.by_table:
            self.interests |= {"transaction"}

    def plan(self, table: Table, topic: str) -> TablePlan:
        return TablePlan(
            topic=topic,
            insert=(RecordPlan(None, self._event(table, _INSERT, (None, "after"))),),
            update=(RecordPlan(None, self._event(table, _UPDATE, ("before", "after"))),),
            delete=(RecordPlan(None, self._event(table, _DELETE, ("before", None))),),
            grouped=True,
            encode=_encoder(table),
        )

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        """INSERTs of server 0; log file and offset are where the snapshot began, the time is when they were read."""
        known: dict[Variable, str] = {
            "file": quote(moment.file),
            "pos": str(moment.offset),
            "server_id": "0",
            "executed": "null",
            "gtid": "null",
        }
        insert = RecordPlan(None, with_literals(self._event(table, _INSERT, (None, "after")), known))
        return TablePlan(topic=topic, insert=(insert,), update=(), delete=(), grouped=True, encode=_encoder(table))

    def _event(self, table: Table, kind: int, images: tuple[Image | None, Image | None]) -> Template:
        unknown = Text("null")
        return (
            Text(f'{{"type":{kind},"file":'),
            Var("file"),
            Text(',"pos":'),
            Var("pos"),
            Text(',"server_id":'),
            Var("server_id"),
            Text(',"ms":'),
            Var("event_ms"),
            Text(',"executed":'),
            Var("executed") if self._options.gtidon else unknown,
            Text(',"gtid":'),
            Var("gtid") if self._options.gtidon else unknown,
            Text(',"rows":['),
            Each((Text("["), *_row(table, images[0]), Text(","), *_row(table, images[1]), Text("]"))),
            Text("]}"),
        )

    def begin(self, moment: Moment) -> Sequence[Message]:
        body = proto.TransactionBegin()
        if moment.thread is not None:
            body.threadId = moment.thread
        return (self._entry(moment, "TRANSACTIONBEGIN", body),)

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> Sequence[Message]:
        return (self._entry(moment, "TRANSACTIONEND", proto.TransactionEnd()),)

    def _entry(self, moment: Moment, kind: str, body: Any) -> Message:
        header = self._header(moment, schemaName="", tableName="")
        entry = proto.Entry(header=header, entryType=_ENTRIES[kind], storeValue=body.SerializeToString())
        return Message(self.topic("", ""), None, proto.packet(moment.offset, entry))

    def write(self, report: Report, moment: Moment) -> bytes:
        header = self._header(moment, schemaName=report.database, eventType=_EVENTS[report.type])
        body = proto.RowChange(eventType=_EVENTS[report.type], sql=report.sql)
        if report.table or not report.ddl:
            header.tableName = report.table
        if report.ddl:
            body.isDdl = True
            if report.session:
                body.ddlSchemaName = report.session
        elif report.type.startswith("XA"):
            _tell_xid(body, report.sql)
        entry = proto.Entry(header=header, entryType=_ENTRIES["ROWDATA"], storeValue=body.SerializeToString())
        return proto.packet(moment.offset, entry)

    def _header(self, moment: Moment, **fields: Any) -> Any:
        header = _header(moment.file, moment.offset, moment.server_id, moment.event_s * 1000, **fields)
        header.eventLength = moment.end - moment.offset
        if self._options.gtidon:
            _tell_gtids(header, moment.executed, moment.gtid)
        return header


def _row(table: Table, image: Image | None) -> list[Text | Value]:
    if image is None:
        return [Text("null")]
    steps: list[Text | Value] = [Text("[")]
    for number, column in enumerate(table.columns):
        steps += [Text(",")] * bool(number) + [Value(column.index, image, "canal", absent=_ABSENT)]
    return [*steps, Text("]")]


def _header(file: str, offset: int, server: int, ms: int, **fields: Any) -> Any:
    return proto.Header(
        version=1,
        logfileName=file,
        logfileOffset=offset,
        serverId=server,
        serverenCode="UTF-8",
        executeTime=ms,
        sourceType=proto.ENUMS["Type"]["MYSQL"],
        **fields,
    )


def _tell_gtids(header: Any, executed: str | None, gtid: str | None) -> None:
    if executed:
        header.gtid = executed
    if gtid:
        header.props.add(key="curtGtid", value=gtid)


def _tell_xid(body: Any, sql: str) -> None:
    """`XA COMMIT X'01',X'',1`: what follows the verb, blank included, is the xid."""
    verb = " ".join(sql.split(maxsplit=2)[:2]).upper()
    body.props.add(key="XA_TYPE", value=verb)
    body.props.add(key="XA_XID", value=sql[len(verb) :])


@lru_cache(maxsize=500)
def _encoder(table: Table) -> CanalEntries:
    """Kept, so that plans of one table are equal and their functions are, too."""
    columns = canal_rows.columns_of(table)
    write = canal_rows.row_writer(columns)

    def encode(key: bytes | None, value: bytes | None) -> tuple[bytes | None, bytes | None]:
        event = _decode(value or b"")
        header = _header(event.file, event.pos, event.server_id, event.ms, eventType=event.type)
        header.schemaName, header.tableName = table.database, table.name
        _tell_gtids(header, event.executed, event.gtid)
        header.props.add(key="rowsCount", value=str(len(event.rows)))
        change = proto.RowChange(eventType=event.type, isDdl=False).SerializeToString()
        rows = b"".join([write(before, after) for before, after in event.rows])
        entry = proto.Entry(header=header, entryType=_ENTRIES["ROWDATA"], storeValue=change + rows)
        return key, proto.packet(event.pos, entry)

    row, before, after = canal_rows.ROW, canal_rows.BEFORE, canal_rows.AFTER
    return CanalEntries(columns, lambda kind: layout(table, kind), row, before, after, encode)
