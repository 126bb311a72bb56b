"""What MySQL 5.7, 8.0 and 8.4 write, by binlogs made after their formats: rows, names, GTIDs and commit times come back
as they were written, from both decoders. Definitions come from the CREATE TABLE in the binlog where names do not."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.checkpoint.history import MemoryHistory
from replicator.config.tables import TableFilter
from replicator.config.task import StdoutSink
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.encode import formats
from replicator.encode.topics import Topics
from replicator.errors import SourceError
from replicator.model.batch import Record
from replicator.model.position import Position
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History, base
from replicator.schema.server_schema import ServerSchema
from tests.support.binlog_writer import LONG, Column, TableSpec
from tests.support.dialects import DIALECTS, Dialect, DialectWriter, Gtids
from tests.support.generated import KINDS

DECODERS: Final = [BinlogDecoder, CompiledDecoder] if compiled.available() else [BinlogDecoder]
EXACT: Final = {"enable_time_adjuster": False, "replace_null_with_default": False, "skipped_operations": []}
SERVER: Final = (("", ("utf8mb4", "utf8mb4_0900_ai_ci")),)

Row = tuple[Any, ...]


class Log:
    """A binlog file of one server, with one table; what was written is kept."""

    def __init__(self, dialect: Dialect, gtids: Gtids, kinds: list[str], *, original: bool, length: int) -> None:
        self.writer = DialectWriter(
            dialect=dialect,
            gtids=gtids,
            original=original,
            length=length,
        )
        self.kinds = kinds
        columns = [Column("id", LONG, nullable=False), *(KINDS[kind].column(f"c_{kind}") for kind in kinds)]
        self.table = TableSpec("shop", "items", tuple(columns))
        declared = ", ".join(f"c_{kind} {KINDS[kind].sql}" for kind in kinds)
        create = f"CREATE TABLE items (id INT NOT NULL PRIMARY KEY, {declared}) DEFAULT CHARSET=utf8mb4"
        writer = self.writer
        self.raw = writer.format_description() + writer.previous_gtids() + writer.ddl(create, "shop")
        self.expected: list[tuple[str, Row | None, Row | None]] = []

    def commit(self, changes: list[tuple[str, Row | None, Row | None]], *, compressed: bool) -> None:
        """(operation, before, after) of each change, in one transaction."""
        writer, table = self.writer, self.table
        self.raw += writer.gtid()
        maker = _beside(writer) if compressed else writer
        events = [maker.query("BEGIN"), maker.rows_query("a statement")]
        for operation, before, after in changes:
            events.append(maker.table_map(table))
            if operation == "c":
                events.append(maker.write_rows(table, [self._written(after)]))
            elif operation == "d":
                events.append(maker.delete_rows(table, [self._written(before)]))
            else:
                events.append(maker.update_rows(table, [(self._written(before), self._written(after))]))
        events.append(maker.xid())
        self.raw += writer.compress(b"".join(events)) if compressed else b"".join(events)
        self.expected += changes

    def _written(self, row: Row | None) -> Row:
        assert row is not None
        values = zip(self.kinds, row[1:], strict=True)
        return (row[0], *(None if value is None else KINDS[kind].write(value) for kind, value in values))

    def read(self, image: dict[str, Any] | None) -> Row | None:
        if image is None:
            return None
        assert list(image) == [column.name for column in self.table.columns]
        values = zip(self.kinds, list(image.values())[1:], strict=True)
        return (image["id"], *(None if value is None else KINDS[kind].read(value) for kind, value in values))


def _beside(writer: DialectWriter) -> DialectWriter:
    """For the events inside a compressed transaction, which have no checksums."""
    made = DialectWriter(dialect=writer.dialect, checksum=False)
    made.number, made.partitioned = writer.number, writer.partitioned
    return made


def decoded(log: Log, kind: type[BinlogDecoder], *, piece: int = 1 << 20) -> tuple[list[Record], Position]:
    sink = StdoutSink.model_validate({"type": "stdout", "format": "debezium", "debezium": EXACT})
    form, topics = formats["debezium"]("t", sink, "mysql"), Topics("{database}.{table}", "t")
    start = Position("binlog.000001", 4)
    history = MemoryHistory()
    schema = ServerSchema(mariadb=False)
    history.append(base(schema, start))
    selection = TableFilter(("shop.*",))
    decoder = kind(
        lambda table: form.plan(table, topics.topic(table)),
        position=start,
        flavor="mysql",
        framing="file",
        server_error=lambda errno, state, text: SourceError("E2211", text),
        catalog=SchemaCatalog(History(history, mariadb=False), start, selection),
        selection=selection,
        clock=lambda: 1_700_000_000_000_000_000,
    )
    records: list[Record] = []
    for at in range(0, len(log.raw), piece):
        for batch in decoder.feed(log.raw[at : at + piece]):
            records += batch.records
        while decoder.more:
            for batch in decoder.feed(b""):
                records += batch.records
    decoder.end()
    return records, decoder.position


@st.composite
def logs(draw: st.DrawFn, dialect: Dialect) -> Log:
    known: tuple[Gtids, ...] = ("anonymous", "named", "tagged")
    gtids = draw(st.sampled_from(known if dialect.tags else known[:2]))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6, unique=True))
    length = draw(st.sampled_from([0, 250, 251, 70_000, 1 << 25]))
    log = Log(dialect, gtids, kinds, original=draw(st.booleans()), length=length)
    log.writer.partitioned = draw(st.booleans())
    rows: dict[int, Row] = {}
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 4)) == 0:
            log.raw += log.writer.view_change()
        changes: list[tuple[str, Row | None, Row | None]] = []
        for _ in range(draw(st.integers(1, 3))):
            key = draw(st.integers(1, 3))
            row = (key, *(draw(st.none() | KINDS[kind].values) for kind in kinds))
            before = rows.get(key)
            if before is not None and draw(st.booleans()):
                changes.append(("d", before, None))
                del rows[key]
            else:
                changes.append(("c" if before is None else "u", before, row))
                rows[key] = row
        log.commit(changes, compressed=dialect.compresses and draw(st.booleans()))
    return log


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    phases=[Phase.explicit, Phase.generate],
)
@given(data=st.data())
def test_what_was_written_comes_back(dialect: Dialect, data: st.DataObject) -> None:
    log = data.draw(logs(dialect))
    found = [decoded(log, kind, piece=data.draw(st.sampled_from([37, 1 << 20]))) for kind in DECODERS]
    assert found[0] == found[-1]
    records, position = found[0]
    changes = [json.loads(value) for _, _, value, *_ in records if value is not None]
    assert [(each["op"], log.read(each["before"]), log.read(each["after"])) for each in changes] == log.expected
    assert (position.offset, position.gtid) == (log.writer.offset, log.writer.gtid_set)
    for each in changes:
        gtid = each["source"]["gtid"]
        assert (gtid is None) == (log.writer.gtids == "anonymous")
        assert gtid is None or gtid.rpartition(":")[0] in log.writer.gtid_set
        assert (each["source"]["ts_us"] % 1_000_000 != 0) == dialect.times, "the commit's time, where it is logged"
