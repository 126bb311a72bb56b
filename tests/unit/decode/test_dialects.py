"""What MySQL 5.7, 8.0 and 8.4 write, by binlogs made after their formats: rows, names, GTIDs and commit times come back
as they were written, from both decoders. Definitions come from the CREATE TABLE in the binlog where names do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
from tests.support.binlog_writer import LONG, LONGLONG, Column, TableSpec
from tests.support.dialects import DIALECTS, Dialect, DialectWriter, Gtids
from tests.support.generated import KINDS
from tests.support.json_changes import changes as changes_of

DECODERS: Final = [BinlogDecoder, CompiledDecoder] if compiled.available() else [BinlogDecoder]
EXACT: Final = {"enable_time_adjuster": False, "replace_null_with_default": False, "skipped_operations": []}
SERVER: Final = (("", ("utf8mb4", "utf8mb4_0900_ai_ci")),)

Row = tuple[Any, ...]
Change = tuple[str, Row | None, Row | None]
"""Operation, row before, row after."""


class Log:
    """A binlog file of one server, with one table; what was written is kept.

    Args:
        hidden_key: the table has the primary key that MySQL makes for a table without one.
        invisible: kinds whose columns are invisible.
    """

    def __init__(
        self,
        dialect: Dialect,
        gtids: Gtids,
        kinds: list[str],
        *,
        original: bool,
        length: int,
        hidden_key: bool = False,
        invisible: frozenset[str] = frozenset(),
    ) -> None:
        self.key = "my_row_id" if hidden_key else "id"
        names = frozenset(f"c_{kind}" for kind in invisible) | ({self.key} if hidden_key else set())
        self.writer = DialectWriter(
            dialect=dialect,
            gtids=gtids,
            original=original,
            length=length,
            invisible=names,
        )
        self.kinds = kinds
        key = Column(self.key, LONGLONG if hidden_key else LONG, nullable=False, unsigned=hidden_key)
        self.table = TableSpec("shop", "items", (key, *(KINDS[kind].column(f"c_{kind}") for kind in kinds)))
        hidden = dict.fromkeys(names, " INVISIBLE")
        declared = ", ".join(f"c_{kind} {KINDS[kind].sql}{hidden.get(f'c_{kind}', '')}" for kind in kinds)
        first = "my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE" if hidden_key else "id INT NOT NULL"
        create = f"CREATE TABLE items ({first} PRIMARY KEY, {declared}) DEFAULT CHARSET=utf8mb4"
        writer = self.writer
        self.raw = writer.format_description() + writer.previous_gtids() + writer.ddl(create, "shop")
        self.expected: list[Change] = []
        self.partial = self.branches = 0

    def commit(self, changes: list[Change], *, compressed: bool = False, in_part: bool = False) -> None:
        """One transaction. `in_part`: a session with binlog_row_value_options = PARTIAL_JSON."""
        writer = self.writer
        self.raw += writer.gtid()
        maker = _beside(writer) if compressed else writer
        events = [maker.query("BEGIN"), maker.rows_query("a statement"), *self._events(maker, changes, in_part)]
        events.append(maker.xid())
        self.raw += writer.compress(b"".join(events)) if compressed else b"".join(events)
        self.expected += changes

    def prepare(self, changes: list[Change], *, one_phase: bool = False) -> str:
        """The first phase of an XA transaction; its XID, as statements have it."""
        self.branches += 1
        gtrid, writer = b"branch %d" % self.branches, self.writer
        xid = f"X'{gtrid.hex()}',X'',1"
        self.raw += writer.gtid() + writer.query(f"XA START {xid}")
        self.raw += b"".join(self._events(writer, changes, in_part=False))
        self.raw += writer.query(f"XA END {xid}") + writer.xa_prepare(gtrid, one_phase=one_phase)
        if one_phase:
            self.expected += changes
        return xid

    def finish(self, xid: str, changes: list[Change], *, commits: bool) -> None:
        """The second phase."""
        self.raw += self.writer.gtid() + self.writer.query(f"XA {'COMMIT' if commits else 'ROLLBACK'} {xid}")
        if commits:
            self.expected += changes

    def _events(self, maker: DialectWriter, changes: list[Change], in_part: bool) -> Iterator[bytes]:
        table = self.table
        for operation, before, after in changes:
            yield maker.table_map(table)
            if operation == "c":
                yield maker.write_rows(table, [self._written(after)])
            elif operation == "d":
                yield maker.delete_rows(table, [self._written(before)])
            elif in_part and "json" in self.kinds:
                yield self._partial(maker, before, after)
            else:
                yield maker.update_rows(table, [(self._written(before), self._written(after))])

    def _partial(self, maker: DialectWriter, before: Row | None, after: Row | None) -> bytes:
        """Each update of such a session is of this kind, whatever it changes."""
        assert before is not None and after is not None
        at = 1 + self.kinds.index("json")
        made = changes_of(before[at], after[at])
        written = list(self._written(after))
        if made is not None:
            written[at] = len(made).to_bytes(4, "little") + made
            self.partial += 1
        return maker.partial_update(self.table, self._written(before), written, partial=made is not None)

    def _written(self, row: Row | None) -> Row:
        assert row is not None
        values = zip(self.kinds, row[1:], strict=True)
        return (row[0], *(None if value is None else KINDS[kind].write(value) for kind, value in values))

    def read(self, image: dict[str, Any] | None) -> Row | None:
        if image is None:
            return None
        assert list(image) == [column.name for column in self.table.columns]
        values = zip(self.kinds, list(image.values())[1:], strict=True)
        return (image[self.key], *(None if value is None else KINDS[kind].read(value) for kind, value in values))


def _beside(writer: DialectWriter) -> DialectWriter:
    """For the events inside a compressed transaction, which have no checksums."""
    made = DialectWriter(dialect=writer.dialect, checksum=False)
    made.number, made.partitioned, made.invisible = writer.number, writer.partitioned, writer.invisible
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
    ways: list[Gtids] = ["anonymous", "named", "tagged"]
    gtids = draw(st.sampled_from(ways[: 3 if dialect.tags else 2]))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6, unique=True))
    in_part = dialect.partial and draw(st.booleans())
    if in_part and "json" not in kinds:
        kinds.append("json")
    length = draw(st.sampled_from([0, 250, 251, 70_000, 1 << 25]))
    invisible = draw(st.frozensets(st.sampled_from(kinds))) if dialect.visibility else frozenset()
    hidden_key = dialect.visibility and draw(st.booleans())
    original = draw(st.booleans())
    log = Log(dialect, gtids, kinds, original=original, length=length, hidden_key=hidden_key, invisible=invisible)
    log.writer.partitioned = draw(st.booleans())
    rows: dict[int, Row] = {}
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 4)) == 0:
            log.raw += log.writer.view_change()
        before = dict(rows)
        changes = [_change(draw, log, rows, st.integers(1, 3)) for _ in range(draw(st.integers(1, 3)))]
        way = draw(st.sampled_from(["plain", "plain", "xa", "one phase"]))
        if way == "plain":
            compressed = dialect.compresses and draw(st.booleans())
            log.commit(changes, compressed=compressed, in_part=in_part and draw(st.integers(0, 3)) > 0)
        elif way == "one phase":
            log.prepare(changes, one_phase=True)
        else:
            xid = log.prepare(changes)
            if draw(st.booleans()):  # rows that the prepared transaction does not lock
                log.commit([_change(draw, log, rows, st.integers(4, 5))])
            commits = draw(st.booleans())
            log.finish(xid, changes, commits=commits)
            if not commits:
                rows = {key: row for key, row in rows.items() if key > 3} | {
                    key: row for key, row in before.items() if key <= 3
                }
    return log


def _change(draw: st.DrawFn, log: Log, rows: dict[int, Row], keys: st.SearchStrategy[int]) -> Change:
    """Of one row, also in `rows`."""
    key = draw(keys)
    before = rows.get(key)
    olds = before[1:] if before is not None else [None] * len(log.kinds)
    row = (key, *(_value(draw, kind, old) for kind, old in zip(log.kinds, olds, strict=True)))
    if before is not None and draw(st.integers(0, 2)) == 0:
        del rows[key]
        return "d", before, None
    rows[key] = row
    return "c" if before is None else "u", before, row


def _value(draw: st.DrawFn, kind: str, old: Any) -> Any:
    if kind == "json" and isinstance(old, (dict, list)) and draw(st.integers(0, 3)):
        return _edited(draw, old)
    return draw(st.none() | KINDS[kind].values)


def _edited(draw: Callable[[st.SearchStrategy[Any]], Any], document: Any) -> Any:
    """Like it, with some values removed, changed and added."""
    if isinstance(document, list):
        kept = document[: draw(st.integers(0, len(document)))]
        values = [_edited(draw, value) if draw(st.booleans()) else value for value in kept]
        return [*values, *draw(st.lists(KINDS["json"].values, max_size=2))]
    if not isinstance(document, dict):
        return draw(KINDS["json"].values)
    names = [name for name in document if draw(st.integers(0, 3))]
    made = {name: _edited(draw, document[name]) if draw(st.booleans()) else document[name] for name in names}
    return made | draw(st.dictionaries(st.text('ab"\\ .[é', max_size=3), KINDS["json"].values, max_size=2))


_CHECKED: Final = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    phases=[Phase.explicit, Phase.generate],
)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@_CHECKED
@given(data=st.data())
def test_what_was_written_comes_back(dialect: Dialect, data: st.DataObject) -> None:
    log = data.draw(logs(dialect))
    changes = written_and_read(log, data.draw(st.sampled_from([37, 1 << 20])))
    for each in changes:
        gtid = each["source"]["gtid"]
        assert (gtid is None) == (log.writer.gtids == "anonymous")
        assert gtid is None or gtid.rpartition(":")[0] in log.writer.gtid_set
        assert (each["source"]["ts_us"] % 1_000_000 != 0) == dialect.times, "the commit's time, where it is logged"


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each.partial], ids=lambda dialect: dialect.name)
@_CHECKED
@given(data=st.data())
def test_documents_that_change_in_part(dialect: Dialect, data: st.DataObject) -> None:
    log = Log(dialect, "named", ["int", "json"], original=False, length=0)
    log.writer.partitioned = data.draw(st.booleans())
    document = {"a": data.draw(KINDS["json"].values), "b": [data.draw(KINDS["json"].values)]}
    row: Row = (1, 7, document)
    log.commit([("c", None, row)])
    updates = data.draw(st.integers(1, 4))
    for _ in range(updates):
        before, row = row, (1, data.draw(st.none() | KINDS["int"].values), _edited(data.draw, row[2]))
        log.commit([("u", before, row)], compressed=dialect.compresses and data.draw(st.booleans()), in_part=True)
    assert log.partial == updates
    written_and_read(log, data.draw(st.sampled_from([37, 1 << 20])))


def written_and_read(log: Log, piece: int) -> list[dict[str, Any]]:
    """The records' values. They say what was written, and both decoders give them."""
    found = [decoded(log, kind, piece=piece) for kind in DECODERS]
    assert found[0] == found[-1]
    records, position = found[0]
    changes = [json.loads(value) for _, _, value, *_ in records if value is not None]
    assert [(each["op"], log.read(each["before"]), log.read(each["after"])) for each in changes] == log.expected
    assert (position.offset, position.gtid) == (log.writer.offset, log.writer.gtid_set)
    keys = [json.loads(key or b"")[log.key] for _, key, value, *_ in records if value is not None]
    assert keys == [(before or after or ())[0] for _, before, after in log.expected]
    return changes
