"""Transactions whose records wait for their end, in memory and on disk."""

import struct
import tempfile

import pytest

from replicator.decode.binlog import event_types
from replicator.decode.transactions import batch_collector as collector_module
from replicator.errors import SourceUnavailable
from replicator.model.plan import Deferred, RecordPlan, TablePlan, Text, Value, Var
from replicator.model.position import Position
from replicator.model.table import Table
from tests.support.present import present
from tests.unit.decode.binlog_writer import IDS, Log, compressed, decoder, plan, records
from tests.unit.decode.test_metadata_events import Teller, row

LATE = Deferred((Text(" x"), Var("xid"), Text(" o"), Var("offset")), (Text(" x"), Var("xid"), Text(" commit")))
PLAIN = Table("plain", "t", IDS.columns, (0,))


def planner(table):
    if table.database == "plain":
        return plan(table)
    inserted = (RecordPlan(None, (Value(0, "after", "int"), LATE)),)
    deleted = (RecordPlan(None, (Text("d"), Value(0, "before", "int"), LATE)), RecordPlan(None, None))
    return TablePlan("late", inserted, inserted, deleted)


def transaction(log, *values, number=1, kind=event_types.WRITE_ROWS):
    log.gtid(number).query("BEGIN").map(IDS)
    for value in values:
        log.rows(kind, 1, row(value))
    return log


def values(batches):
    return [record[2] and record[2].decode() for record in records(batches)]


def told(count, start=0):
    return [f"{n} x0 o{n}" if n < count - 1 else f"{n} x0 commit" for n in range(start, count)]


def feed_all(made, raw):
    batches = made.feed(raw)
    while made.more:
        batches += made.feed(b"")
    return batches


@pytest.fixture(params=["memory", "disk"])
def place(request, monkeypatch):
    if request.param == "disk":
        monkeypatch.setattr(collector_module, "_MOST_HELD", 600)
        monkeypatch.setattr(collector_module, "_PIECE", 600)
    return request.param


@pytest.mark.parametrize("packed", [False, True])
def test_records_leave_with_the_end_of_their_transaction(place, packed):
    head = transaction(Log(), *range(20))
    start, tail = head.at, Log(at=head.at, described=False).xid().insert(2, 7)
    if packed:
        raw = compressed(head.raw + tail.raw)
        batches = feed_all(decoder(planner=planner), raw)
    else:
        made = decoder(planner=planner)
        assert feed_all(made, head.raw) == []
        batches = feed_all(made, tail.raw)
    assert values(batches) == [*told(20), "7 x0 commit"]
    assert [record[4] for record in records(batches)] == [*range(20), 0]
    assert (len(batches) > 1) == (place == "disk")
    assert sum(batch.rows for batch in batches) == 21
    assert [batch.boundary for batch in batches] == [False] * (len(batches) - 1) + [True]
    assert all(batch.size == sum(len(record[2]) for record in batch.records) for batch in batches)
    for batch in batches[:-1]:
        assert batch.position.rows == batch.records[-1][4] + 1
    assert start


@pytest.mark.parametrize("delivered", [0, 1, 7, 19, 20])
def test_resuming_inside_one(place, delivered):
    log = transaction(Log(at=500), *range(20)).xid().insert(2, 7)
    made = decoder(planner=planner, position=Position("binlog.000001", 500, "", delivered))
    batches = feed_all(made, log.raw)
    assert values(batches) == [*told(20, delivered), "7 x0 commit"]
    assert sum(batch.rows for batch in batches) == 21 - delivered


def test_any_position_given_out_can_be_resumed_from(place):
    log = transaction(Log(), *range(20)).xid()
    whole = values(feed_all(decoder(planner=planner), log.raw))
    seen = 0
    for batch in feed_all(decoder(planner=planner), log.raw)[:-1]:
        seen += len(batch.records)
        assert values(feed_all(decoder(planner=planner, position=batch.position), log.raw)) == whole[seen:]


def test_a_row_and_its_tombstone_leave_together(place):
    log = transaction(Log(), *range(20), kind=event_types.DELETE_ROWS).xid()
    batches = feed_all(decoder(planner=planner), log.raw)
    assert all(len(batch.records) % 2 == 0 for batch in batches)
    assert values(batches) == [text for value in told(20) for text in (f"d{value}", None)]


def test_rows_and_messages_around_them_keep_their_order(place):
    log = Log().gtid(1).query("BEGIN").map(PLAIN, 2).rows(event_types.WRITE_ROWS, 1, row(1), 2).map(IDS)
    for value in range(20):
        log.rows(event_types.WRITE_ROWS, 1, row(value))
    log.rows(event_types.WRITE_ROWS, 1, row(2), 2).rows(event_types.WRITE_ROWS, 1, row(3), 2).xid()
    batches = feed_all(decoder(planner=planner, narrator=Teller("transaction")), log.raw)
    found = records(batches)
    assert [record[4] for record in found] == list(range(25))
    assert [record[0] for record in found] == ["told", "plain.t", *["late"] * 20, "plain.t", "plain.t", "told"]
    assert sum(batch.rows for batch in batches) == 23
    late = [present(record[2]).decode() for record in found if record[0] == "late"]
    assert late == [f"{n} x0 o{n + 2}" for n in range(19)] + ["19 x0 commit"]


@pytest.mark.parametrize("kept", [0, 1, 5, 12, 20])
def test_savepoints(place, kept):
    log = transaction(Log(), *range(kept)).query("SAVEPOINT s")
    for value in range(50, 65):
        log.rows(event_types.WRITE_ROWS, 1, row(value))
    log.query("ROLLBACK TO s").rows(event_types.WRITE_ROWS, 1, row(99)).xid()
    batches = feed_all(decoder(planner=planner), log.raw)
    assert [value.split()[0] for value in values(batches)] == [str(n) for n in (*range(kept), 99)]
    assert values(batches)[-1] == "99 x0 commit"
    assert sum(batch.rows for batch in batches) == kept + 1


def test_a_rollback_and_what_comes_behind_it(place):
    log = transaction(transaction(Log(), *range(20)).query("ROLLBACK"), 5, number=2).query("COMMIT")
    assert values(feed_all(decoder(planner=planner), log.raw)) == ["5 xnull commit"]


def test_all_of_it_in_pieces_of_the_stream(place):
    raw = transaction(transaction(Log(), *range(20)).xid(), *range(3), number=2).xid().raw
    for size in (7, 100, 1000):
        made, batches = decoder(planner=planner), []
        for at in range(0, len(raw), size):
            batches += feed_all(made, raw[at : at + size])
        assert values(batches) == told(20) + told(3), size


@pytest.mark.parametrize("name", ["TemporaryFile", "gettempdir"])
def test_a_full_disk_is_transient_and_nothing_has_left(monkeypatch, name):
    """Also where the search for a directory, which writes a file into each, finds none."""
    monkeypatch.setattr(collector_module, "_MOST_HELD", 600)

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, name, full)
    made = decoder(planner=planner)
    (batch,) = made.feed(transaction(Log().insert(1, 3), *range(20), number=2).xid().raw)
    assert values([batch]) == ["3 x0 commit"]
    with pytest.raises(SourceUnavailable) as caught:
        made.feed(b"")
    assert (caught.value.code, caught.value.transient) == ("E2311", True)
    assert made.position.rows == 0


def test_an_xa_transaction_is_prepared_until_all_of_it_has_left(place):
    xid = "X'61',X'',1"
    log = Log().gtid(1).query(f"XA START {xid}").map(IDS)
    for value in range(20):
        log.rows(event_types.WRITE_ROWS, 1, row(value))
    log.query(f"XA END {xid}").add(event_types.XA_PREPARE, struct.pack("<BIII", 0, 1, 1, 0) + b"a")
    batches = feed_all(decoder(planner=planner), log.gtid(2).query(f"XA COMMIT {xid}").raw)
    assert [value.split()[0] for value in values(batches)] == [str(n) for n in range(20)]
    assert (len(batches) > 1) == (place == "disk")
    assert [len(batch.position.prepared) for batch in batches] == [1] * (len(batches) - 1) + [0]
