"""What formats are told beside rows, and where their messages stand among the rows."""

import struct

import pytest

from replicator.config.tables import TableFilter
from replicator.decode.binlog import event_types
from replicator.model.metadata_event import Message, Statement, TableChange
from replicator.model.plan import RecordPlan, TablePlan, Text, Var
from replicator.model.position import Position
from replicator.model.table import Table
from tests.support.present import present
from tests.unit.decode.binlog_writer import IDS, UUID, Log, decoder, records

T = ("shop", "t")


class Teller:
    """Writes down what it is told, one message for each."""

    def __init__(self, *interests):
        self.interests = frozenset(interests)
        self.told = []
        self.moments = []

    def statement(self, statement, moment):
        return self._say(f"statement {statement.kind}: {statement.text}", moment)

    def begin(self, moment):
        return self._say("begin", moment)

    def end(self, moment, rows):
        return self._say(f"end {dict(rows)}", moment)

    def query(self, text, moment):
        return self._say(f"query {text}", moment)

    def heartbeat(self, moment):
        return self._say("heartbeat", moment)

    def _say(self, text, moment):
        self.told.append(text)
        self.moments.append(moment)
        return [Message("told", None, text.encode())]


def row(value):
    return b"\0" + struct.pack("<i", value)


def short(batches):
    """(row number, what) of each record; rows are by their id."""
    return [
        (
            record[4],
            present(record[2]).decode()
            if record[0] == "told"
            else int.from_bytes(bytes.fromhex(present(record[2])[2:10].decode()), "little"),
        )
        for record in records(batches)
    ]


def transaction(log, number, *values):
    log.gtid(number).query("BEGIN")
    for value in values:
        log.map(IDS).rows(event_types.WRITE_ROWS, 1, row(value))
    return log.xid()


def test_messages_stand_among_the_rows_and_are_numbered_like_them():
    teller = Teller("transaction", "statement")
    log = transaction(Log(), 1, 10, 11).gtid(2).query("CREATE TABLE x (id INT)")
    (batch,) = decoder(narrator=teller).feed(log.raw)
    end = "end {('shop', 't'): 2}"
    assert short([batch]) == [
        (0, "begin"), (1, 10), (2, 11), (3, end),
        (0, "begin"), (1, "statement CREATE TABLE: CREATE TABLE x (id INT)"), (2, "end {}"),
    ]  # fmt: skip
    assert (batch.rows, batch.transactions) == (2, 2)
    assert [record[3].decode() for record in batch.records] == [f"{UUID}:1"] * 4 + [f"{UUID}:2"] * 3
    assert batch.size == sum(len(record[1] or b"") + len(present(record[2])) for record in batch.records)


@pytest.mark.parametrize("delivered", range(9))
def test_resuming_inside_a_transaction_skips_messages_as_it_skips_rows(delivered):
    log = Log(at=500).gtid(1).query("BEGIN")
    for value in (10, 11):
        log.add(event_types.ROWS_QUERY, b"\0insert %d" % value).map(IDS).rows(
            event_types.WRITE_ROWS, 1, row(value) + row(value + 50)
        )
    log.xid()
    whole = short(
        decoder(position=Position("binlog.000001", 500), narrator=Teller("transaction", "query")).feed(log.raw)
    )
    assert [number for number, _ in whole] == list(range(8))
    made = decoder(position=Position("binlog.000001", 500, "", delivered), narrator=Teller("transaction", "query"))
    batches = made.feed(log.raw)
    assert short(batches) == whole[delivered:]
    assert sum(batch.rows for batch in batches) == sum(isinstance(what, int) for _, what in whole[delivered:])


def test_positions_between_messages_resume_there():
    log = Log(at=500).gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(10))
    head = log.raw
    tail = Log(at=log.at, described=False).rows(event_types.WRITE_ROWS, 1, row(11)).xid().raw
    made = decoder(position=Position("binlog.000001", 500), narrator=Teller("transaction"))
    (part,) = made.feed(head)
    assert (short([part]), part.rows, part.position.rows) == ([(0, "begin"), (1, 10)], 1, 2)
    (rest,) = made.feed(tail)
    assert (short([rest]), rest.rows) == ([(2, 11), (3, "end {('shop', 't'): 2}")], 1)
    again = decoder(position=part.position, narrator=Teller("transaction"))
    assert short(again.feed(head + tail)) == short([rest])


def test_transactions_without_replicated_rows_are_not_told():
    teller = Teller("transaction", "query")
    other = Table("other", "t", IDS.columns, (0,))
    log = (
        Log()
        .gtid(1)
        .query("BEGIN")
        .add(event_types.ROWS_QUERY, b"\0x")
        .map(other)
        .rows(event_types.WRITE_ROWS, 1, row(1))
        .xid()
    )
    log.gtid(2).query("BEGIN").query("ROLLBACK")
    (batch,) = decoder(narrator=teller).feed(log.raw)
    assert (batch.records, teller.told) == ([], [])


def test_a_rolled_back_transaction_takes_its_messages_along():
    teller = Teller("transaction")
    log = Log().gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1)).query("ROLLBACK")
    assert short(decoder(narrator=teller).feed(transaction(log, 2, 5).raw)) == [
        (0, "begin"), (1, 5), (2, "end {('shop', 't'): 1}"),
    ]  # fmt: skip


def test_counts_follow_savepoints():
    log = Log().gtid(1).query("BEGIN").query("SAVEPOINT a").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1))
    log.query("SAVEPOINT b").rows(event_types.WRITE_ROWS, 1, row(2)).query("ROLLBACK TO b")
    (batch,) = decoder(narrator=Teller("transaction")).feed(log.rows(event_types.WRITE_ROWS, 1, row(3)).xid().raw)
    assert [what for _, what in short([batch])] == ["begin", 1, 3, "end {('shop', 't'): 2}"]
    assert batch.rows == 2


def test_moments():
    teller = Teller("transaction", "heartbeat", "executed")
    log = transaction(Log(), 7, 10)
    start = log.at
    log.add(event_types.HEARTBEAT)
    decoder(position=Position("binlog.000001", 4, f"{UUID}:1-6"), narrator=teller).feed(log.raw)
    begin, end, beat = teller.moments
    assert (begin.gtid, begin.executed, begin.ts_us, begin.event_s) == (f"{UUID}:7", f"{UUID}:1-7", 5_000_000, 1000)
    assert (begin.file, begin.thread, begin.server_id, begin.now_ns) == ("binlog.000001", 9, 7, 1_000_000_000)
    assert begin.offset < begin.end <= end.offset < end.end == start
    assert (beat.gtid, beat.executed, beat.thread) == ("", f"{UUID}:1-7", None)


def test_heartbeats_are_told_between_transactions_only_and_not_numbered():
    teller = Teller("heartbeat")
    log = transaction(Log(), 1, 10).add(event_types.HEARTBEAT).gtid(2).add(event_types.HEARTBEAT).query("BEGIN")
    (batch,) = decoder(narrator=teller).feed(log.raw)
    assert short([batch]) == [(0, 10), (0, "heartbeat")]
    assert (batch.rows, batch.boundary) == (1, True)
    log = Log(at=500).add(event_types.HEARTBEAT)
    assert decoder(position=Position("binlog.000001", 500, "", 3), narrator=teller).feed(log.raw) == []


STATEMENTS = {
    "CREATE TABLE t (id INT)": True,
    "CREATE TABLE other.t (id INT)": False,
    "DROP TABLE IF EXISTS `other`.`x`, `shop`.`t` /* generated by server */": True,
    "DROP TABLE other.x, other.y": False,
    "RENAME TABLE other.a TO other.b, other.c TO shop.d": True,
    "RENAME TABLE other.a TO other.b": False,
    "ALTER TABLE other.a RENAME TO shop.a": True,
    "ALTER TABLE other.a RENAME COLUMN x TO y": False,
    "CREATE UNIQUE INDEX i ON other.t (id)": False,
    "CREATE INDEX i ON t (id)": True,
    "DROP DATABASE other": False,
    "CREATE DATABASE IF NOT EXISTS `shop`": True,
    "TRUNCATE other.t": False,
    "TRUNCATE TABLE t": True,
    "GRANT ALL ON *.* TO x": True,
    "CREATE DEFINER=`root`@`%` VIEW v AS SELECT 1": True,
}


@pytest.mark.parametrize(("text", "told"), STATEMENTS.items(), ids=STATEMENTS)
def test_statements_about_other_tables_are_not_told(text, told):
    teller = Teller("statement")
    log = Log().gtid(1).query(text, database="shop")
    (batch,) = decoder(narrator=teller, selection=TableFilter(["shop.*"])).feed(log.raw)
    assert len(batch.records) == len(teller.told) == told
    assert batch.boundary


def test_a_database_that_is_excluded_whole_is_not_told_of():
    selection = TableFilter(["*.*", "!other.*", "!shop.x"])
    assert [selection.touches(name) for name in ("shop", "other")] == [True, False]


def test_rows_know_their_statement_and_their_number():
    def planner(table):
        steps = tuple(
            part
            for name in ("query", "executed", "tsid", "order", "table_order", "event_s")
            for part in (Var(name), Text(" "))
        )
        return TablePlan("t", (RecordPlan(None, steps),), (), ()) if table.database == "shop" else None

    two = Table("shop", "two", IDS.columns, (0,))
    log = Log().gtid(2).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1))
    log.add(event_types.ROWS_QUERY, '\0insert "ä"'.encode()).map(IDS).map(two, 2)
    log.rows(event_types.WRITE_ROWS, 1, row(2) + row(3), flags=0).rows(event_types.WRITE_ROWS, 1, row(4), 2)
    log.rows(event_types.WRITE_ROWS, 1, row(5)).xid()
    for narrator, told in ((None, 0), (Teller("transaction"), 1)):
        made = decoder(position=Position("binlog.000001", 4, f"{UUID}:1"), planner=planner, narrator=narrator)
        found = [present(record[2]).decode() for record in records(made.feed(log.raw)) if record[0] == "t"]
        known = f'"{UUID}:1-2" "{UUID}"'
        text = '"insert \\"ä\\""'
        assert found == [
            f"null {known} 1 1 1000 ",
            f"{text} {known} 2 2 1000 ",
            f"{text} {known} 3 3 1000 ",
            f"{text} {known} 4 1 1000 ",
            f"null {known} 5 4 1000 ",
        ], told


class History:
    """A catalog that understands one statement."""

    def __init__(self):
        self.asked = []

    def describe(self, table, *, named):
        return table

    def statement(self, database, text, position, gtid):
        self.asked.append((database, text, position, gtid))
        return Statement(database, text, "ALTER TABLE", (TableChange("ALTER", *T), TableChange("ALTER", "other", "x")))


def test_the_schema_history_takes_statements_first_and_tables_are_planned_anew():
    history, planned = History(), []

    def planner(table):
        planned.append(table.qualified)

    log = transaction(Log(), 1, 10)
    start = log.at
    transaction(log.gtid(2).query("ALTER TABLE t ADD x INT"), 3, 11)
    decoder(catalog=history, planner=planner).feed(log.raw)
    assert history.asked == [("shop", "ALTER TABLE t ADD x INT", Position("binlog.000001", start), f"{UUID}:2")]
    assert planned == ["shop.t", "shop.t"]


def test_changes_to_other_tables_are_left_out_of_what_is_told():
    class TransactionEvents(Teller):
        def statement(self, statement, moment):
            self.told.append(statement.changes)
            return ()

    teller = TransactionEvents("statement")
    log = Log().gtid(1).query("ALTER ...")
    decoder(catalog=History(), narrator=teller, selection=TableFilter(["shop.*"])).feed(log.raw)
    assert teller.told == [(TableChange("ALTER", *T),)]
