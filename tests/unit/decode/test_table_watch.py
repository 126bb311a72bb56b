"""A decoder's watcher is told of every change of its tables, and nothing else is as before."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replicator.decode.binlog import event_types
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.decode.plan import table_versions
from replicator.decode.renderers import rendering
from replicator.errors import SourceError
from replicator.model import types
from replicator.model.condition import Filter, IsNull, Of
from replicator.model.metadata_event import Statement, TableChange
from replicator.model.packed_records import PackedRecords
from replicator.model.position import Position
from replicator.model.table import Column, Table
from tests.unit.compiled import both as pair
from tests.unit.decode import binlog_writer as writer
from tests.unit.decode.binlog_writer import IDS, Log, row
from tests.unit.decode.test_xa import A, branch
from tests.unit.decode.watching import Notes, changed_rows, every_key, stream

RECORDINGS = pair.recordings()
KINDS = {"python": BinlogDecoder, "compiled": CompiledDecoder}
START = Position("binlog.000001", 4)
WATCHED = {"shop.t": ("id",)}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> type[BinlogDecoder]:
    return KINDS[request.param]


def made(kind: type[BinlogDecoder], planner: Any = writer.plan, **options: Any) -> BinlogDecoder:
    return kind(
        planner,
        position=START,
        framing=options.pop("framing", "file"),
        flavor=options.pop("flavor", "mysql"),
        server_error=writer.server_error,
        rendering=options.pop("rendering", writer.hexadecimal),
        clock=lambda: pair.NOW,
        **options,
    )


def key(value: int) -> bytes:
    return b'"%s",' % struct.pack("<i", value).hex().encode()


def recorded(path: Path, kind: type[BinlogDecoder], framing: pair.Framing = "file", **options: Any) -> BinlogDecoder:
    return made(kind, every_key, framing=framing, flavor=pair.flavor(path), rendering=rendering, **options)


class All(dict[str, tuple[str, ...]]):
    """Every table, by all columns."""

    def get(self, table: str, default: Any = None) -> Any:
        return ()


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("framing", ["file", "packet"])
def test_every_row_of_a_stream_is_noted(path: Path, framing: pair.Framing, kind: type[BinlogDecoder]) -> None:
    """XA, compressed transactions and events, partial updates, savepoints: what records have is what is noted."""
    raw = stream(pair.read(path), framing)
    rows = changed_rows(recorded(path, BinlogDecoder, framing), raw)
    notes = Notes(All())
    decoder = recorded(path, kind, framing)
    decoder.watch(notes)
    assert changed_rows(decoder, raw) == rows
    assert notes.sets == rows


@pytest.mark.parametrize("form", pair.FORMATS)
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_what_leaves_is_the_same_with_a_watcher(path: Path, form: str, kind: type[BinlogDecoder]) -> None:
    """Also where it comes and goes in the middle of transactions, and its tables change."""
    raw, server = pair.read(path), pair.flavor(path)
    dice = random.Random(f"{path.name} {form}")
    for size in (300_000, 997):
        pieces = pair.cut(raw[:300_000], size)
        expected = pair.told(pair.decoder(kind, form, server, "file", START), pieces)
        decoder = pair.decoder(kind, form, server, "file", START)
        feed = decoder.feed

        def feeding(data: bytes, feed: Any = feed, decoder: BinlogDecoder = decoder) -> Any:
            chosen = {name: () for name in ("shop.t", "shop.my", "bench.orders", "zoo.t") if dice.random() < 0.6}
            decoder.watch(dice.choice([Notes(All()), Notes(chosen), None]))
            return feed(data)

        decoder.feed = feeding  # type: ignore[method-assign]
        assert pair.told(decoder, pieces) == expected


class Counting(dict[int, Any]):
    """The handlers, and the types of events that came to them."""

    handled: list[int]

    def get(self, kind: int, default: Any = None) -> Any:
        self.handled.append(kind)
        return super().get(kind, default)


def count(decoder: BinlogDecoder) -> list[int]:
    counting = Counting(decoder._handlers)
    counting.handled = []
    decoder._handlers = counting
    return counting.handled


@pytest.mark.parametrize("tables", [{}, {"bench.other": ("id",)}, {"bench.orders": ("id",)}])
@pytest.mark.parametrize("name", ["mysql_orders", "mariadb_orders"])
def test_rows_of_watched_and_other_tables_stay_with_the_compiled_loop(
    name: str, tables: dict[str, tuple[str, ...]]
) -> None:
    path = next(path for path in RECORDINGS if path.name.startswith(name))
    decoder = pair.decoder(CompiledDecoder, "debezium", pair.flavor(path), "file", START)
    decoder.watch(notes := Notes(tables))
    handled = count(decoder)
    batches = decoder.feed(pair.read(path))
    assert all(isinstance(batch.records, PackedRecords) for batch in batches)
    assert len(handled) < 10
    assert len(notes.keys["bench.orders"]) == (100 if "bench.orders" in tables else 0)


def test_many_keys_of_one_read(kind: type[BinlogDecoder]) -> None:
    log, decoder, notes = Log(), made(kind), Notes(WATCHED)
    for number in range(1, 3000):
        log.insert(number, number)
    decoder.watch(notes)
    for piece in pair.cut(log.raw, 100_000):
        decoder.feed(piece)
    assert notes.keys["shop.t"] == [key(number) for number in range(1, 3000)]


def test_keys_of_every_operation(kind: type[BinlogDecoder]) -> None:
    log = Log().insert(1, 10, 11).gtid(2).query("BEGIN").map(IDS)
    log.rows(event_types.UPDATE_ROWS, 1, row(10) + row(12) + row(11) + row(11))
    log.rows(event_types.DELETE_ROWS, 1, row(12)).xid()
    decoder = made(kind)
    decoder.watch(notes := Notes(WATCHED))
    decoder.feed(log.raw)
    assert notes.keys["shop.t"] == [key(10), key(11), key(10), key(12), key(11), key(12)]
    assert not notes.altered_tables


def test_watching_begins_and_ends_between_two_events(kind: type[BinlogDecoder]) -> None:
    parts = [Log().insert(1, 1)]
    for number in range(2, 7):
        parts.append(Log(at=parts[-1].at, described=False).insert(number, number))
    decoder, notes, again = made(kind), Notes(WATCHED), Notes(WATCHED)
    watchers: list[Notes | None] = [None, notes, notes, None, again, None]
    batches = []
    for part, watcher in zip(parts, watchers, strict=True):
        decoder.watch(watcher)
        batches += decoder.feed(part.raw)
    assert (notes.keys["shop.t"], again.keys["shop.t"]) == ([key(2), key(3)], [key(5)])
    assert writer.ids(batches) == [(number, 0) for number in range(1, 7)]


def test_a_watcher_may_change_its_tables(kind: type[BinlogDecoder]) -> None:
    decoder, notes = made(kind), Notes({})
    log = Log().insert(1, 1)
    decoder.watch(notes)
    decoder.feed(log.raw)
    for tables in (WATCHED, {}):
        notes.tables = tables
        decoder.watch(notes)
        log = Log(at=log.at, described=False).insert(2, 2)
        decoder.feed(log.raw)
    assert notes.keys == {"shop.t": [key(2)]}


def test_functions_that_were_dropped_are_wrapped_when_they_are_made_again(
    kind: type[BinlogDecoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_versions, "_MOST_VERSIONS", 1)
    other = msgspec.structs.replace(IDS, name="other")
    decoder = made(kind)
    log = Log().insert(1, 1)
    decoder.feed(log.raw)
    decoder.watch(notes := Notes(WATCHED))
    log = Log(at=log.at, described=False).gtid(2).query("BEGIN").map(IDS, 1).map(other, 2)
    log.rows(event_types.WRITE_ROWS, 1, row(2), 1).rows(event_types.WRITE_ROWS, 1, row(3), 2).xid()
    decoder.feed(log.raw)
    decoder.watch(None)
    decoder.feed(Log(at=log.at, described=False).insert(3, 4).raw)
    assert notes.keys == {"shop.t": [key(2)]}


def test_rows_that_a_filter_leaves_out_are_noted(kind: type[BinlogDecoder]) -> None:
    def planner(table: Table) -> Any:
        return msgspec.structs.replace(writer.plan(table), filter=Filter(IsNull(Of(0))))

    decoder = made(kind, planner)
    decoder.watch(notes := Notes(WATCHED))
    (batch,) = decoder.feed(Log().insert(1, 1).raw)
    assert (list(batch.records), notes.keys) == ([], {"shop.t": [key(1)]})


PAIRS = Table(
    "shop", "t", (Column(0, "id", types.LONG, nullable=False), Column(1, "v", types.LONG, nullable=False)), (0,)
)  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "keys", "altered"), [(("id",), [key(7)], []), (("v",), [], ["shop.t"]), (("gone",), [], ["shop.t"])]
)
def test_an_image_without_the_key_alters_the_table(
    kind: type[BinlogDecoder], columns: tuple[str, ...], keys: list[bytes], altered: list[str]
) -> None:
    log = Log().gtid(1).query("BEGIN").map(PAIRS)
    minimal = b"\x02\xfd\xfe" + row(7) + row(9)  # before: id; after: v
    log.add(event_types.UPDATE_ROWS, (1).to_bytes(6, "little") + b"\x01\x00\x02\x00" + minimal).xid()
    decoder = made(kind, lambda table: writer.plan(table, renderer="hex"), row_image="accept_partial")
    decoder.watch(notes := Notes({"shop.t": columns}))
    (batch,) = decoder.feed(log.raw)
    assert batch.rows == 1
    assert (notes.keys.get("shop.t", []), notes.altered_tables) == (keys, altered)


def test_rows_of_a_prepared_transaction_are_noted_when_it_commits(kind: type[BinlogDecoder]) -> None:
    prepared = branch(Log(), 1, 10, 11)
    commit = Log(at=prepared.at, described=False).gtid(2).query(f"XA COMMIT {A}")
    decoder = made(kind)
    decoder.feed(prepared.raw)
    assert decoder.between
    decoder.watch(notes := Notes(WATCHED))
    (batch,) = decoder.feed(commit.raw)
    assert batch.rows == 2
    assert notes.keys == {"shop.t": [key(10), key(11)]}
    assert notes.lates == [True, False], "and may be shown only later"


def test_a_damaged_event_is_refused_as_without_a_watcher(kind: type[BinlogDecoder]) -> None:
    log = Log().insert(1, 1).gtid(2).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(2)[:-1]).xid()
    decoder = made(kind)
    decoder.watch(notes := Notes(WATCHED))
    (batch,) = decoder.feed(log.raw)
    assert batch.rows == 1
    with pytest.raises(SourceError, match="E2302") as caught:
        decoder.feed(b"")
    assert caught.value.table == "shop.t"
    assert notes.keys == {"shop.t": [key(1)]}


# Statements

TABLES = {"shop.t": ("id",), "shop.u": ("id",), "other.t": ("id",)}
EVERYTHING: list[str | None] = [None]


@pytest.mark.parametrize(
    ("text", "altered"),
    [
        ("ALTER TABLE t ADD COLUMN c INT", ["shop.t"]),
        ("/* a */ alter /*!40005 ONLINE */ table `shop`.`T` ADD c INT", ["shop.t"]),
        ("ALTER TABLE x RENAME TO shop.u", ["shop.u"]),
        ("ALTER TABLE other.t RENAME u", ["other.t", "shop.u"]),
        ("SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE t FORCE", ["shop.t"]),
        ("SET PASSWORD FOR t = 'x'", []),
        ("RENAME TABLE shop.t TO shop.x, y TO other.t", ["shop.t", "other.t"]),
        ("TRUNCATE u", ["shop.u"]),
        ("TRUNCATE TABLE other.t", ["other.t"]),
        ("DROP TABLE IF EXISTS t, `u`", ["shop.t", "shop.u"]),
        ("CREATE TABLE t (id INT)", ["shop.t"]),
        ("CREATE TABLE t LIKE x", ["shop.t"]),
        ("CREATE TABLE `t` (id INT) START TRANSACTION", ["shop.t"]),
        ("CREATE UNIQUE INDEX i ON t (a)", ["shop.t"]),
        ("DROP INDEX i ON other.t", ["other.t"]),
        ("REPAIR TABLE t", ["shop.t"]),
        ("DROP DATABASE shop", ["shop.t", "shop.u"]),
        ("DROP SCHEMA IF EXISTS other", ["other.t"]),
        ("ALTER DATABASE CHARACTER SET latin1", ["shop.t", "shop.u"]),
        ("ALTER TABLE x EXCHANGE PARTITION p WITH TABLE t", EVERYTHING),
        ("ALTER TABLE x CONVERT PARTITION p TO TABLE t", EVERYTHING),
        ("ALTER TABLE x COMMENT 'EXCHANGE PARTITION'", []),
        ("SOMETHING NEW", EVERYTHING),
        ("DROP WHATEVER t", EVERYTHING),
        ("CREATE INDEX `i` `ON` t", EVERYTHING),
        ("ALTER TABLE x ADD c INT", []),
        ("DROP DATABASE sho", []),
        ("ANALYZE TABLE t", []),
        ("OPTIMIZE TABLE t", []),
        ("CREATE DATABASE shop", []),
        ("CREATE USER t", []),
        ("GRANT ALL ON shop.* TO t", []),
        ("FLUSH TABLES t", []),
        ("CREATE VIEW t AS SELECT 1", []),
        ("DROP TRIGGER t", []),
    ],
)  # fmt: skip
def test_statements_alter_tables(kind: type[BinlogDecoder], text: str, altered: list[str | None]) -> None:
    decoder = made(kind)
    decoder.watch(notes := Notes(TABLES))
    decoder.feed(Log().gtid(1).query(text).raw)
    assert sorted(map(str, notes.altered_tables)) == sorted(map(str, altered))


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("ALTER TABLE x EXCHANGE PARTITION p WITH TABLE t", [["shop.x", "shop.t"]]),
        ("alter table `x` exchange  partition `p 1` with table other.`T` without validation", [["shop.x", "other.T"]]),
        ("ALTER TABLE other.x /* a */ CONVERT PARTITION p TO TABLE `shop`.`t`", [["other.x", "shop.t"]]),
        ("ALTER TABLE x CONVERT TABLE t TO PARTITION p VALUES LESS THAN (3)", [["shop.x", "shop.t"]]),
        ("ALTER TABLE x COMMENT 'EXCHANGE PARTITION p WITH TABLE t'", []),
        ("ALTER TABLE x TRUNCATE PARTITION p", []),
    ],
)
def test_statements_move_rows_between_tables(kind: type[BinlogDecoder], text: str, moved: list[list[str]]) -> None:
    """Told before any table is watched, too: what was read by an earlier session is concerned."""
    for tables in (TABLES, {}):
        decoder = made(kind)
        decoder.watch(notes := Notes(tables))
        decoder.feed(Log().gtid(1).query(text).raw)
        assert notes.moves == moved


class History:
    """A catalog that says what a statement did."""

    def __init__(self, *changes: TableChange) -> None:
        self.changes = changes

    def describe(self, table: Table, *, named: bool) -> Table:
        return table

    def statement(self, database: str, text: str, position: Position, gtid: str) -> Statement:
        return Statement(database, text, "", self.changes)


def test_what_the_schema_history_finds_in_a_statement_counts_too(kind: type[BinlogDecoder]) -> None:
    found = TableChange("RENAME", "other", "T", new_name=("shop", "u"))
    decoder = made(kind, catalog=History(found))
    decoder.watch(notes := Notes(TABLES))
    decoder.feed(Log().gtid(1).query("ALTER TABLE t ENGINE = InnoDB").raw)
    assert set(notes.altered_tables) == {"shop.t", "other.t", "shop.u"}


def test_nobody_is_told_without_tables(kind: type[BinlogDecoder]) -> None:
    decoder = made(kind)
    decoder.watch(notes := Notes({}))
    decoder.feed(Log().gtid(1).query("SOMETHING NEW").raw)
    decoder.watch(None)
    decoder.feed(b"")
    assert not notes.altered_tables


# Between transactions


def test_between(kind: type[BinlogDecoder]) -> None:
    whole = Log().insert(1, 1).gtid(2).query("CREATE TABLE shop.x (id INT)").gtid(3).add(event_types.TABLE_MAP)
    decoder, found = made(kind), list[bool]()
    assert decoder.between
    for part in whole.parts[:-1]:
        decoder.feed(part)
        found.append(decoder.between)
    # the description; GTID, BEGIN, table map, rows, XID; GTID, DDL; GTID
    assert found == [True, False, False, False, False, True, False, True, False]


def test_bytes_of_an_event_that_is_not_whole_are_not_read_yet(kind: type[BinlogDecoder]) -> None:
    log = Log().insert(1, 1)
    decoder = made(kind)
    decoder.feed(log.raw + Log(at=log.at, described=False).gtid(2).raw[:-1])
    assert decoder.between


def test_a_position_inside_a_transaction_is_not_between(kind: type[BinlogDecoder]) -> None:
    log = Log().insert(1, 1, 2)
    description, *rest = log.parts
    at = 4 + len(description)
    decoder = kind(
        writer.plan,
        position=Position("binlog.000001", at, rows=1),
        framing="file",
        flavor="mysql",
        server_error=writer.server_error,
        rendering=writer.hexadecimal,
    )
    decoder.feed(Log(at=at).raw)
    assert not decoder.between
    decoder.feed(b"".join(rest))
    assert decoder.between
