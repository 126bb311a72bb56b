"""The history at work, without a server: what is remembered, what holds where, what stops a task."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import pytest

from replicator.checkpoint.history import MemoryHistory
from replicator.config.tables import TableFilter
from replicator.errors import DecodeError, ProcessError, SessionRenewed, SourceUnavailable
from replicator.model import types
from replicator.model.happening import Statement
from replicator.model.position import Place, Position
from replicator.model.schema_history import BinlogStatement, SchemaRecord, ServerDefinitions, TableText
from replicator.model.table import Column, Table
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import COMPACT, History
from replicator.schema.manual_definitions import manual_definition
from replicator.schema.position_coverage import PositionCoverage

UUID = "11111111-1111-1111-1111-111111111111"
CREATE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(5))"
ODD = "ALTER TABLE t FLIP COLUMN v"


class Task:
    """A task over `d.*` whose statements stand at offsets 100, 200, ..., the n-th with the GTID n."""

    def __init__(
        self,
        reading: ServerDefinitions | None = None,
        *ahead: tuple[int, str],
        gtids: bool = True,
        needed: bool = False,
        stale: str = "",
    ) -> None:
        self.store = MemoryHistory()
        self.live = DefinitionSource(self, reading, *ahead) if reading is not None else None
        self._gtids = gtids
        self._stale = stale
        self._needed = needed
        self.tables = ["d.*", "!d.not_ours"]
        self.catalog = self.at(1)

    def position(self, number: int) -> Position:
        """Before the statement of this number."""
        gtid = f"{UUID}:1-{number - 1}" if number > 1 else ""
        return Position("b.000001", 100 * number, gtid if self._gtids else self._stale)

    def at(self, number: int, *left_out: str) -> SchemaCatalog:
        history = History(self.store, mariadb=False, live=self.live, scope=self.tables, choose=TableFilter)
        return SchemaCatalog(
            history, self.position(number), TableFilter(self.tables), needed=self._needed, left_out=left_out
        )

    def say(self, number: int, text: str, catalog: SchemaCatalog | None = None) -> Statement:
        return (catalog or self.catalog).statement("d", text, self.position(number), self.gtid(number))

    def gtid(self, number: int) -> str:
        return f"{UUID}:{number}" if self._gtids else ""


class DefinitionSource:
    """A server with these definitions, and with these statements in its log, by number."""

    def __init__(self, task: Task, reading: ServerDefinitions, *statements: tuple[int, str]) -> None:
        self.reading = reading
        self.readings: list[ServerDefinitions] = []
        self.log = statements
        self.looked: list[tuple[Position, Position]] = []
        self._task = task

    def read(self) -> ServerDefinitions:
        return self.readings.pop(0) if self.readings else self.reading

    def statements(self, start: Position, end: Position) -> Iterator[BinlogStatement]:
        self.looked.append((start, end))
        for number, text in self.log:
            position = self._task.position(number)
            if start.offset <= position.offset < end.offset:
                yield BinlogStatement("d", text, Position(position.file, position.offset), self._task.gtid(number))


def event(*kinds: int, name: str = "t", names: tuple[str, ...] = ()) -> Table:
    columns = tuple(
        Column(at, names[at] if names else f"@{at + 1}", kind, 20 if kind == types.VARCHAR else 0)
        for at, kind in enumerate(kinds)
    )
    return Table("d", name, columns)


ROW = event(types.LONG, types.VARCHAR)


def described(catalog: SchemaCatalog, table: Table = ROW) -> list[str]:
    return [column.name for column in catalog.describe(table, named=False).columns]


def test_names_come_from_the_history() -> None:
    task = Task()
    change = task.say(1, CREATE).changes[0]
    assert change.table is not None
    found = task.catalog.describe(ROW, named=False)
    assert [column.name for column in found.columns] == ["id", "v"]
    assert found.primary_key == (0,)
    assert found.columns[1].declared == change.table.columns[1].declared
    assert found.charset == "utf8mb4"


@pytest.mark.parametrize("row", [event(types.LONG), event(types.LONG, types.LONG), event(types.LONG, name="unheard")])
def test_names_that_do_not_fit_the_event_stop_the_task(row: Table) -> None:
    task = Task()
    task.say(1, CREATE)
    with pytest.raises(DecodeError, match=r"E2306.*d\.(t|unheard).*--set-table"):
        task.catalog.describe(row, named=False)


def test_named_columns_are_declared_where_they_fit() -> None:
    task = Task()
    task.say(1, CREATE)
    found = task.catalog.describe(event(types.LONG, types.LONG, names=("id", "v")), named=True)
    assert found.columns[0].declared is not None
    assert found.columns[1].declared is None
    assert task.catalog.describe(event(types.LONG, name="unheard"), named=True).columns[0].declared is None


@pytest.mark.parametrize("gtids", [True, False])
def test_each_position_has_the_definition_of_then(gtids: bool) -> None:
    task = Task(gtids=gtids)
    task.say(1, CREATE)
    task.say(2, "ALTER TABLE t RENAME COLUMN v TO w")
    task.say(3, "DROP TABLE t")
    kept = list(task.store.records)
    assert [described(task.at(number)) for number in (2, 3)] == [["id", "v"], ["id", "w"]]
    again = task.at(2)
    assert task.say(2, "ALTER TABLE t RENAME COLUMN v TO w", again).changes[0].verb == "ALTER"
    assert described(again) == ["id", "w"]
    assert task.store.records == kept
    with pytest.raises(DecodeError, match="E2306"):
        described(task.at(4))


def test_a_statement_that_comes_by_twice_in_a_stream_counts_once() -> None:
    task = Task()
    task.say(1, CREATE)
    task.say(2, "ALTER TABLE t ADD c INT, DROP v")
    task.say(1, CREATE)
    task.say(2, "ALTER TABLE t ADD c INT, DROP v")
    assert described(task.catalog, event(types.LONG, types.LONG)) == ["id", "c"]
    assert len(task.store.records) == 3


def test_what_is_not_replicated_is_counted_and_passed() -> None:
    task = Task()
    task.say(1, "CREATE TABLE elsewhere.t (a INT)")
    task.say(2, "ALTER TABLE elsewhere.t FLIP a")
    task.say(3, "ALTER TABLE not_ours FLIP a")
    assert task.catalog.counters == {"ddl_ignored": 1, "ddl_not_understood": 2}
    assert len(task.store.records) == 1


def test_what_is_not_understood_makes_a_table_unknown_and_stops_where_names_are_needed() -> None:
    task = Task()
    task.say(1, CREATE)
    assert task.say(2, ODD).changes[0].table is None
    assert task.catalog.describe(event(types.LONG, names=("id",)), named=True).columns[0].declared is None
    with pytest.raises(DecodeError, match="E2306"):
        described(task.catalog)
    strict = Task(needed=True)
    strict.say(1, CREATE)
    with pytest.raises(DecodeError, match=r"E2309.*d\.t.*FLIP.*--set-table"):
        strict.say(2, ODD)
    assert len(strict.store.records) == 2


def test_an_operator_tells_what_a_statement_did() -> None:
    task = Task(needed=True)
    task.say(1, CREATE)
    with pytest.raises(DecodeError):
        task.say(2, ODD)
    text = "CREATE TABLE d.t (id INT PRIMARY KEY, flipped VARCHAR(5));"
    history = History(task.store, mariadb=False)
    history.append(manual_definition(history, text, task.position(2)))
    behind = task.at(2)
    task.say(2, ODD, behind)
    assert described(behind) == ["id", "flipped"]
    task.say(3, "ALTER TABLE t RENAME COLUMN flipped TO later", behind)
    assert described(task.at(4)) == ["id", "later"]
    for wrong in (ODD, "CREATE TABLE t (id INT)", "CREATE TABLE d.t (id INT SOMEHOW)"):
        with pytest.raises(ProcessError, match="E5014"):
            manual_definition(history, wrong, task.position(2))


def reading(number: int, *texts: str) -> ServerDefinitions:
    """As of the statement of this number."""
    tables = tuple(TableText("d", text.split()[2], text) for text in texts)
    gtid = f"{UUID}:1-{number - 1}" if number > 1 else ""
    return ServerDefinitions(Position("b.000001", 100 * number, gtid), tables, {"d": ("utf8mb4", "utf8mb4_bin")})


def test_a_table_that_is_left_out_stops_nothing_and_comes_back_as_it_was_told() -> None:
    task = Task(needed=True)
    task.say(1, CREATE)
    with pytest.raises(DecodeError) as stopped:
        task.say(2, ODD)
    assert stopped.value.table == "d.t"
    task.say(2, ODD, task.at(2, "d.t"))
    after = task.at(3, "d.t")
    assert task.say(3, "CREATE TABLE u (id INT PRIMARY KEY)", after).changes, "the others are followed"
    with pytest.raises(DecodeError, match="E2306"):
        described(task.at(4))
    history = History(task.store, mariadb=False)
    statement = "CREATE TABLE d.t (id INT PRIMARY KEY, w VARCHAR(5))"
    task.store.append(manual_definition(history, statement, task.position(4), {"d.t": task.position(2)}))
    assert described(task.at(4)) == ["id", "w"]
    again = task.at(2)
    task.say(2, ODD, again)
    assert described(again) == ["id", "w"]


def test_two_tables_of_one_statement_are_not_left_out_for_it() -> None:
    task = Task(needed=True)
    task.say(1, CREATE)
    task.say(2, "CREATE TABLE u (id INT PRIMARY KEY)")
    with pytest.raises(DecodeError) as stopped:
        task.say(3, "RENAME TABLE t TO x FLIP, u TO y")
    assert stopped.value.table == ""


LATER = ("CREATE TABLE t (id INT, w VARCHAR(5))", "CREATE TABLE u (x INT)")


def test_definitions_read_later_hold_from_there_and_new_tables_are_followed() -> None:
    ahead = [
        (1, "CREATE TABLE u (y INT)"),
        (3, "ALTER TABLE u RENAME COLUMN y TO x"),
        (4, "ALTER TABLE t RENAME COLUMN v TO w"),
    ]
    task = Task(reading(5, *LATER), *ahead)
    task.say(*ahead[0])
    assert described(task.catalog, event(types.LONG, name="u")) == ["y"]
    task.say(*ahead[1])
    assert described(task.catalog, event(types.LONG, name="u")) == ["x"]
    task.say(*ahead[2])  # is in what was read
    assert described(task.catalog) == ["id", "w"]
    task.say(6, "ALTER TABLE t RENAME COLUMN w TO z")
    assert described(task.catalog) == ["id", "z"]
    assert described(task.at(7)) == ["id", "z"]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t RENAME COLUMN v TO w",
        "ALTER TABLE t MODIFY w VARCHAR(5) CHARSET latin1",
        "ALTER TABLE t CHANGE id id INT UNSIGNED",
        "ALTER TABLE t ADD UNIQUE (id)",
        "ALTER TABLE t ALTER w SET DEFAULT 'x'",
        "RENAME TABLE t TO tmp, other TO t, tmp TO other",
        "RENAME TABLE d.other TO d.t",
        "ALTER TABLE other RENAME TO t",
        "DROP TABLE t",
        "DROP TABLE IF EXISTS nothing, t",
        "CREATE TABLE t (id INT, w VARCHAR(5))",
        "CREATE OR REPLACE TABLE t (id INT, w VARCHAR(5))",
        "CREATE TABLE t LIKE u",
        "DROP DATABASE d",
        "ALTER TABLE t FLIP COLUMN w",
        "ALTER TABLE d . t FLIP COLUMN w",
    ],
)
@pytest.mark.parametrize("gtids", [True, False])
def test_rows_before_a_change_are_refused_and_not_named_with_what_came_after(change: str, gtids: bool) -> None:
    task = Task(reading(5, *LATER), (3, change), gtids=gtids)
    with pytest.raises(DecodeError, match=rf"E2306.*b\.000001:300: {re.escape(change[:20])}.*--set-table"):
        described(task.catalog)
    if "DATABASE" not in change:
        assert described(task.catalog, event(types.LONG, name="u")) == ["x"]
    assert task.catalog.describe(event(types.LONG, types.VARCHAR, names=("id", "v")), named=True).columns[0].declared
    if change.startswith("ALTER"):
        task.say(3, change)
        assert described(task.catalog) == ["id", "w"]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE u RENAME COLUMN y TO x",
        "ALTER TABLE t ADD INDEX (w)",
        "CREATE INDEX i ON t (w)",
        "ALTER TABLE t ENGINE=InnoDB",
        "CREATE TABLE IF NOT EXISTS t (id INT, w VARCHAR(5))",
        "CREATE TABLE v LIKE t",
        "TRUNCATE TABLE t",
        "ANALYZE TABLE t",
        "CREATE TEMPORARY TABLE t (x INT)",
        "CREATE VIEW w AS SELECT * FROM t",
        "CREATE TABLE elsewhere.t (a INT)",
    ],
)
def test_what_leaves_a_table_as_it_is_separates_no_rows_from_it(statement: str) -> None:
    task = Task(reading(5, *LATER), (3, statement))
    assert described(task.catalog) == ["id", "w"]
    task.say(3, statement)
    assert described(task.catalog) == ["id", "w"]
    assert described(task.at(2)) == ["id", "w"]


def test_statements_behind_the_definitions_do_not_count() -> None:
    task = Task(reading(5, *LATER), (5, "ALTER TABLE t RENAME COLUMN w TO v"))
    assert described(task.catalog) == ["id", "w"]


def test_the_log_ahead_is_read_once_and_only_for_rows_without_names() -> None:
    task = Task(reading(5, *LATER), (3, "ALTER TABLE t RENAME COLUMN v TO w"))
    assert task.live is not None
    task.catalog.describe(event(types.LONG, types.VARCHAR, names=("id", "v")), named=True)
    assert task.live.looked == []
    for _ in range(3):
        with pytest.raises(DecodeError):
            described(task.catalog)
    assert described(task.catalog, event(types.LONG, name="u")) == ["x"]
    assert len(task.live.looked) == 1


def test_each_change_on_the_way_is_passed_before_the_definition_holds() -> None:
    swap = "RENAME TABLE t TO tmp, other TO t, tmp TO other"
    task = Task(reading(5, *LATER), (2, swap), (4, swap))
    for number in (2, 4):
        with pytest.raises(DecodeError, match=rf"E2306.*:{number}00"):
            described(task.catalog)
        task.say(number, swap)
    assert described(task.catalog) == ["id", "w"]
    assert described(task.at(5)) == ["id", "w"]
    with pytest.raises(DecodeError, match="E2306"):
        described(task.at(3))


def test_an_operator_tells_of_the_table_before_the_change() -> None:
    change = (3, "ALTER TABLE t RENAME COLUMN v TO w")
    task = Task(reading(5, *LATER), change)
    with pytest.raises(DecodeError, match="E2306"):
        described(task.catalog)
    statement = "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(5))"
    task.store.append(manual_definition(History(task.store, mariadb=False), statement, task.position(1)))
    again = task.at(1)
    assert described(again) == ["id", "v"]
    task.say(*change, again)
    assert described(again) == ["id", "w"]
    assert described(task.at(4)) == ["id", "w"]
    assert described(task.at(6)) == ["id", "w"], "what was told of the past is not the present"


def test_definitions_are_read_again_when_a_statement_falls_into_the_reading() -> None:
    swap = "RENAME TABLE t TO tmp, other TO t, tmp TO other"
    torn = msgspec.structs.replace(reading(3, LATER[0]), end=reading(5).position)
    task = Task()
    task.store.records.clear()
    task.live = DefinitionSource(task, reading(5, "CREATE TABLE t (id INT, better VARCHAR(5))"), (4, swap))
    task.live.readings = [torn]
    assert described(task.at(5)) == ["id", "better"]
    task.store.records.clear()
    task.live.reading = torn
    with pytest.raises(SourceUnavailable, match="E2216"):
        task.at(5)
    task.store.records.clear()
    task.live.log = ((4, "CREATE TABLE brand_new (id INT)"),)
    assert described(task.at(5)) == ["id", "w"]


def test_without_a_source_to_ask_no_later_definition_is_used_for_rows() -> None:
    task = Task(reading(5, *LATER))
    task.live = None
    with pytest.raises(DecodeError, match="E2306"):
        described(task.at(1))


def test_tables_that_are_added_are_read_and_those_nobody_followed_are_read_again() -> None:
    task = Task(reading(2, LATER[0]))
    assert described(task.catalog) == ["id", "w"]
    task.tables = ["elsewhere.*"]  # statements of d pass unread from here on
    task.at(3)
    task.tables = ["d.*", "!d.not_ours"]
    assert task.live is not None
    task.live.reading = reading(9, "CREATE TABLE t (id INT, swapped VARCHAR(5))", LATER[1])
    assert described(task.at(8)) == ["id", "swapped"]
    assert described(task.at(8), event(types.LONG, name="u")) == ["x"]
    task.live.log = ((7, "RENAME TABLE t TO tmp, other TO t, tmp TO other"),)
    with pytest.raises(DecodeError, match=r"E2306.*:700"):
        described(task.at(6))
    assert described(task.at(9)) == ["id", "swapped"]


def test_a_table_that_was_followed_all_the_time_keeps_its_definition_when_others_are_added() -> None:
    task = Task(reading(1, LATER[0]))
    task.say(1, "ALTER TABLE t RENAME COLUMN w TO v")
    task.tables = ["d.*", "more.*"]
    assert task.live is not None
    later = reading(9, "CREATE TABLE t (id INT, z VARCHAR(5))", "CREATE TABLE more.u (x INT)")
    tables = (later.tables[0], TableText("more", "u", "CREATE TABLE u (x INT)"))
    task.live.reading = msgspec.structs.replace(later, tables=tables)
    rename = (5, "ALTER TABLE t RENAME COLUMN v TO z")
    task.live.log = (rename,)
    wider = task.at(3)
    assert described(wider) == ["id", "v"]
    assert wider.describe(msgspec.structs.replace(event(types.LONG, name="u"), database="more"), named=False).columns
    task.say(*rename, wider)
    assert described(wider) == ["id", "z"]
    assert described(task.at(9)) == described(task.at(6)) == ["id", "z"]
    assert described(task.at(4)) == ["id", "v"]


def test_beyond_a_position_that_an_operator_has_set_forward_definitions_are_read_again() -> None:
    task = Task(reading(1, LATER[0]))
    assert described(task.catalog) == ["id", "w"]
    assert task.live is not None
    task.live.reading = reading(9, "CREATE TABLE t (id INT, renamed VARCHAR(5))")
    history = History(task.store, mariadb=False, live=task.live, scope=task.tables, choose=TableFilter)
    seen = task.position(2)
    position = msgspec.structs.replace(task.position(8), unseen=Place(seen.file, seen.offset, seen.gtid))
    assert described(SchemaCatalog(history, position, TableFilter(task.tables))) == ["id", "w"], "nothing was missed"
    task.live.log = ((1, "DROP TABLE t"), (8, "DROP TABLE t"))
    assert described(SchemaCatalog(history, position, TableFilter(task.tables))) == ["id", "w"], "nor was this"
    task.live.log = ((4, "RENAME TABLE t TO x, other TO t, x TO other"),)
    assert described(SchemaCatalog(history, position, TableFilter(task.tables))) == ["id", "renamed"]
    assert described(task.at(9)) == ["id", "renamed"]


def test_a_server_that_gave_gtids_once_is_followed_by_files() -> None:
    """Its executed set stays as it is, whatever comes."""
    stale = f"{UUID}:1-30"
    later = reading(5, *LATER)
    later = msgspec.structs.replace(later, position=msgspec.structs.replace(later.position, gtid=stale))
    task = Task(later, (3, "ALTER TABLE t RENAME COLUMN v TO w"), gtids=False, stale=stale)
    with pytest.raises(DecodeError, match=r"E2306.*:300"):
        described(task.at(1))
    assert described(task.at(4)) == ["id", "w"]


def test_many_records_end_the_session_and_become_a_base() -> None:
    task = Task()
    task.say(1, CREATE)
    number = 2
    with pytest.raises(SessionRenewed):
        for number in range(2, 2 * COMPACT):
            task.say(number, f"ALTER TABLE t COMMENT '{number}'")
    assert len(task.store.records) == number == COMPACT + 1
    again = task.at(number)
    assert len(task.store.records) == 1
    task.say(number, "ALTER TABLE t RENAME COLUMN v TO w", again)
    assert described(again) == ["id", "w"]


def test_what_lies_behind_the_position_is_kept() -> None:
    task = Task()
    task.say(1, CREATE)
    for number in range(2, COMPACT - 10):
        task.say(number, f"ALTER TABLE t COMMENT '{number}'")
    again = task.at(COMPACT - 10)
    for number in range(COMPACT - 10, COMPACT + 20):
        task.say(number, f"ALTER TABLE t COMMENT '{number}'", again)
    assert described(task.at(COMPACT + 10)) == ["id", "v"]
    assert len(task.store.records) == 1 + 10
    assert described(task.at(COMPACT + 10)) == ["id", "v"]


def test_definitions_of_a_later_position_outlive_a_base() -> None:
    task = Task(reading(5000, *LATER), (4000, "ALTER TABLE u RENAME COLUMN y TO x"))
    for number in range(1, COMPACT + 1):
        task.say(number, f"CREATE TABLE t{number} (id INT)")
    again = task.at(COMPACT + 1)
    assert len(task.store.records) == 1
    for catalog in (again, task.at(COMPACT + 2)):
        assert described(catalog) == ["id", "w"]
        assert described(catalog, event(types.LONG, name="t7")) == ["id"]
        with pytest.raises(DecodeError, match=r"E2306.*:400000"):
            described(catalog, event(types.LONG, name="u"))
    task.say(4000, "ALTER TABLE u RENAME COLUMN y TO x", again)
    assert described(again, event(types.LONG, name="u")) == ["x"]
    task.say(5000, "ALTER TABLE u RENAME COLUMN x TO z", again)
    for catalog in (again, task.at(5001)):
        assert described(catalog) == ["id", "w"]
        assert described(catalog, event(types.LONG, name="u")) == ["z"]
        assert described(catalog, event(types.LONG, name="t7")) == ["id"]


def test_what_an_operator_told_before_the_first_session_does_not_take_the_place_of_a_base() -> None:
    task = Task(reading(1, LATER[1]))
    task.store.records.clear()
    statement = "CREATE TABLE d.t (id INT, told VARCHAR(5))"
    task.store.append(manual_definition(History(task.store, mariadb=False), statement, task.position(1)))
    catalog = task.at(1)
    assert described(catalog) == ["id", "told"]
    assert described(catalog, event(types.LONG, name="u")) == ["x"]


def test_what_nobody_wrote_is_refused() -> None:
    task = Task()
    task.store.records[0] = msgspec.structs.replace(task.store.records[0], data=b"garbage")
    with pytest.raises(ProcessError, match="E5014"):
        task.at(1)


def test_mariadb_positions() -> None:
    covers = PositionCoverage(Position("b.1", 4, "0-1-10,1-1-5"), mariadb=True)
    found = [
        covers.covers_statement(SchemaRecord("ddl", Position("b.9", 9), gtid)) for gtid in ("0-2-10", "0-1-11", "2-1-1")
    ]
    assert found == [True, False, False]
