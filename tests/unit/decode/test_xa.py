"""XA transactions: rows leave at XA COMMIT, as rows of the transaction that commits; none leave otherwise."""

import struct
import tempfile

import pytest

from replicator.decode.binlog import event_types
from replicator.decode.transactions import transaction_events as changes_module
from replicator.decode.transactions import xa as branches_module
from replicator.errors import DecodeError, SourceError, SourceUnavailable
from replicator.model.plan import RecordPlan, TablePlan, Text, Value, Var
from replicator.model.position import Inside, Position, Prepared
from replicator.model.table import Table
from replicator.source.memory_source import MemoryServer
from tests.support.present import present
from tests.unit.decode.binlog_writer import IDS, UUID, Log, decoder, records
from tests.unit.decode.test_metadata_events import Teller, row

OTHER = Table("other", "t", IDS.columns, (0,))
A, B = "X'61',X'',1", "X'62',X'7a',1"


def prepare(log, one_phase=0, gtrid=b"a", bqual=b""):
    return log.add(event_types.XA_PREPARE, struct.pack("<BIII", one_phase, 1, len(gtrid), len(bqual)) + gtrid + bqual)


def branch(log, number, *values, gtrid=b"a", bqual=b"", table=IDS, one_phase=0):
    """An XA transaction up to XA PREPARE."""
    xid = A if gtrid == b"a" else B
    log.gtid(number).query(f"XA START {xid}", thread=70 + number).map(table)
    for value in values:
        log.rows(event_types.WRITE_ROWS, 1, row(value))
    return prepare(log.query(f"XA END {xid}"), one_phase, gtrid, bqual)


def ids(batches):
    """(id, number, GTID's number) of each record."""
    return [
        (int.from_bytes(bytes.fromhex(present(r[2])[2:10].decode()), "little"), r[4], int(r[3].rpartition(b":")[2]))
        for r in records(batches)
    ]


def test_rows_leave_at_commit_with_its_gtid_and_numbers_from_0():
    log = branch(Log(), 1, 10, 11).insert(2, 5).gtid(3).query(f"XA COMMIT {A}").insert(4, 6)
    (batch,) = decoder().feed(log.raw)
    assert ids([batch]) == [(5, 0, 2), (10, 0, 3), (11, 1, 3), (6, 0, 4)]
    assert (batch.rows, batch.transactions, batch.position.prepared) == (4, 4, ())


def test_rows_print_the_transaction_that_commits_and_the_session_that_changed():
    def planner(table):
        steps = (Var("gtid"), Text(" "), Var("thread"), Text(" "), Var("ts_us"), Text(" "), Var("order"))
        return TablePlan("t", (RecordPlan(None, steps),), (), ())

    log = branch(Log(), 1, 10)
    log.gtid(2, 7_000_000).query(f"XA COMMIT {A}", thread=99)
    (record,) = records(decoder(planner=planner).feed(log.raw))
    assert present(record[2]).decode() == f'"{UUID}:2" 71 7000000 1'


def test_rows_are_dropped_at_rollback():
    log = branch(Log(), 1, 10).gtid(2).query(f"XA ROLLBACK {A}").insert(3, 6)
    (batch,) = decoder().feed(log.raw)
    assert ids([batch]) == [(6, 0, 3)]
    assert batch.position.prepared == ()


def test_interleaved():
    log = branch(Log(), 1, 10)
    branch(log, 2, 20, 21, gtrid=b"b", bqual=b"z")
    log.gtid(3).query(f"XA COMMIT {A}").insert(4, 5).gtid(5).query(f"XA COMMIT {B}")
    assert ids(decoder().feed(log.raw)) == [(10, 0, 3), (5, 0, 4), (20, 0, 5), (21, 1, 5)]


def test_one_phase_is_an_ordinary_commit():
    log = branch(Log(), 1, 10, one_phase=1).insert(2, 5)
    (batch,) = decoder().feed(log.raw)
    assert ids([batch]) == [(10, 0, 1), (5, 0, 2)]
    assert batch.position.prepared == ()


def test_savepoints_inside():
    made = decoder()
    with pytest.raises(DecodeError):
        made.feed(Log().gtid(1).query(f"XA START {A}").query("ROLLBACK TO other").raw)
    log = Log().gtid(1).query(f"XA START {A}").map(IDS).rows(event_types.WRITE_ROWS, 1, row(10)).query("SAVEPOINT `s`")
    log.rows(event_types.WRITE_ROWS, 1, row(67)).query("ROLLBACK TO `s`").rows(event_types.WRITE_ROWS, 1, row(11))
    log = prepare(log.query(f"XA END {A}")).gtid(2).query(f"XA COMMIT {A}")
    assert ids(decoder().feed(log.raw)) == [(10, 0, 2), (11, 1, 2)]


def test_rolled_back_before_it_was_prepared():
    log = Log().gtid(1).query(f"XA START {A}").map(IDS).rows(event_types.WRITE_ROWS, 1, row(10))
    log.query(f"XA END {A}").query(f"XA ROLLBACK {A}").insert(2, 5)
    assert ids(decoder().feed(log.raw)) == [(5, 0, 2)]


def test_a_position_lists_what_is_prepared():
    log = Log().insert(1, 1)
    start = log.at
    branch(log, 2, 10)
    branch(log, 3, 20, table=OTHER, gtrid=b"b", bqual=b"z")
    (batch,) = decoder(position=Position("binlog.000001", 4, f"{UUID}:7")).feed(log.raw)
    kept = (Prepared(A, "binlog.000001", start, f"{UUID}:1:7"), Prepared(B, "", 0))
    assert batch.position == Position("binlog.000001", log.at, f"{UUID}:1-3:7", prepared=kept)
    rest = Log(at=log.at, described=False).gtid(4).query(f"XA COMMIT {B}").gtid(5).query(f"XA ROLLBACK {A}")
    raw = Log(at=log.at).raw + rest.raw
    (batch,) = decoder(position=batch.position).feed(raw)
    assert (batch.records, batch.position.prepared) == ([], ())


def server_with(log, *ends):
    """A memory server whose file is `log`; `ends`: offsets of transactions' ends."""
    server = MemoryServer()
    server.begin_file("binlog.000001", log.raw)
    for end in ends:
        server._boundaries["binlog.000001", end] = ""
    return server


@pytest.fixture
def halves():
    """(a server, a position between XA PREPARE and XA COMMIT, the log from there on, offset of the commit)."""
    log = Log().insert(1, 1)
    start = log.at
    branch(log, 2, 10, 11)
    middle = log.at
    commit = log.insert(3, 5).at
    log.gtid(4).query(f"XA COMMIT {A}").insert(5, 6)
    server = server_with(log, start)
    position = Position("binlog.000001", middle, prepared=(Prepared(A, "binlog.000001", start),))
    description = Log(at=middle)
    return server, position, description.raw + log.raw[middle - 4 :], commit


def test_rows_are_read_again_after_a_restart(halves):
    server, position, rest, _ = halves
    made = decoder(position=position, reread=server.connect)
    (batch,) = made.feed(rest)
    assert ids([batch]) == [(5, 0, 3), (10, 0, 4), (11, 1, 4), (6, 0, 5)]
    assert batch.position.prepared == ()
    assert server._open == [], "the stream beside ours is closed"


@pytest.mark.parametrize("delivered", [0, 1, 2])
def test_resuming_inside_a_commit(halves, delivered):
    server, position, rest, commit = halves
    inside = Position(position.file, commit, "", delivered, position.prepared)
    head = Log(at=commit).raw
    (batch,) = decoder(position=inside, reread=server.connect).feed(head + rest[len(head) + commit - position.offset :])
    assert ids([batch]) == [*[(10, 0, 4), (11, 1, 4)][delivered:], (6, 0, 5)]


def test_positions_inside_a_commit_say_that_it_is_prepared(halves, monkeypatch):
    monkeypatch.setattr(changes_module, "_PIECE", 0)
    server, position, rest, commit = halves
    made = decoder(position=position, reread=server.connect)
    whole, part = [*made.feed(rest), *made.feed(b"")]
    assert (ids([whole]), ids([part])) == ([(5, 0, 3)], [(10, 0, 4)])
    inside = Inside("", 1)
    assert part.position == Position(position.file, commit, "", 1, position.prepared, inside=inside)


def test_binlog_that_is_purged(halves):
    _, position, rest, _ = halves

    def purged(position):
        raise SourceError("E2206", "binlog.000001 is purged")

    made = decoder(position=position, reread=purged)
    (batch,) = made.feed(rest)
    assert ids([batch]) == [(5, 0, 3)]
    with pytest.raises(DecodeError, match="purged") as caught:
        made.feed(b"")
    assert caught.value.code == "E2312"
    assert not caught.value.transient


def test_another_transaction_where_it_was_prepared(halves):
    server, position, rest, _ = halves
    elsewhere = Position(position.file, position.offset, prepared=(Prepared(A, "binlog.000001", 4),))
    made = decoder(position=elsewhere, reread=server.connect)
    made.feed(rest)
    with pytest.raises(DecodeError) as caught:
        made.feed(b"")
    assert caught.value.code == "E2302"


def test_a_commit_of_what_was_prepared_before_the_task_began():
    log = Log().gtid(1).query(f"XA COMMIT {A}")
    made = decoder()
    with pytest.raises(DecodeError) as caught:
        made.feed(log.raw)
    assert caught.value.code == "E2301"
    assert decoder().feed(Log().gtid(1).query(f"XA ROLLBACK {A}").raw)[0].records == []


def test_many_prepared_transactions_are_bounded(monkeypatch):
    monkeypatch.setattr(branches_module, "_MOST_KEPT", 2)
    monkeypatch.setattr(branches_module, "_ALL_IN_MEMORY", 100)
    log, names = Log(), (b"a", b"b", b"c", b"d")
    starts = []
    for number, name in enumerate(names, 1):
        starts.append(log.at)
        log.gtid(number).query("XA START x").map(IDS).rows(event_types.WRITE_ROWS, 1, row(number))
        prepare(log.query("XA END x"), 0, name)
    server = server_with(log, *starts)
    for number, name in enumerate(names, 11):
        log.gtid(number).query(f"XA COMMIT X'{name.hex()}',X'',1")
    assert ids(decoder(reread=server.connect).feed(log.raw)) == [(n, 0, n + 10) for n in range(1, 5)]


def test_a_large_transaction_leaves_in_pieces(monkeypatch):
    monkeypatch.setattr(changes_module, "_PIECE", 500)
    monkeypatch.setattr(branches_module, "_MOST_IN_MEMORY", 500)
    log = branch(Log(), 1, *range(200))
    log.gtid(2).query(f"XA COMMIT {A}").insert(3, 5)
    made = decoder()
    batches = made.feed(log.raw)
    assert made.more
    while made.more:
        batches += made.feed(b"")
    assert len(batches) > 5
    assert ids(batches) == [(n, n, 2) for n in range(200)] + [(5, 0, 3)]
    for batch in batches[1:-1]:
        assert batch.position.rows == batch.records[-1][4] + 1
        assert batch.position.prepared
    assert batches[-1].position.prepared == ()


def test_a_full_disk(monkeypatch):
    monkeypatch.setattr(branches_module, "_MOST_IN_MEMORY", 500)

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    made = decoder()
    with pytest.raises(SourceUnavailable) as caught:
        made.feed(branch(Log(), 1, *range(200)).raw)
    assert (caught.value.code, caught.value.transient) == ("E2311", True)


def test_formats_are_told_of_the_ends():
    teller = Teller("xa", "transaction")
    log = branch(Log(), 1, 10)
    branch(log, 2, 20, gtrid=b"b", bqual=b"z")
    log.gtid(3).query(f"XA COMMIT {A}").gtid(4).query(f"XA ROLLBACK {B}")
    (batch,) = decoder(narrator=teller).feed(log.raw)
    told = [present(record[2]).decode() for record in batch.records if record[0] == "told"]
    assert told == [
        "begin",
        f"statement XA COMMIT: XA COMMIT {A}",
        "end {('shop', 't'): 1}",
        f"statement XA ROLLBACK: XA ROLLBACK {B}",
    ]
    assert [record[4] for record in batch.records] == [0, 1, 2, 3, 0]


def test_statements_of_the_rows_come_along():
    steps = (Var("query"), Value(0, "after", "int"))
    plan = TablePlan("t", (RecordPlan(None, steps),), (), ())
    log = Log().gtid(1).query(f"XA START {A}").add(event_types.ROWS_QUERY, b"\0one").map(IDS)
    log.rows(event_types.WRITE_ROWS, 1, row(1), flags=0).rows(event_types.WRITE_ROWS, 1, row(2))
    log.map(IDS).rows(event_types.WRITE_ROWS, 1, row(3)).add(event_types.ROWS_QUERY, b"\0two").map(IDS)
    prepare(log.rows(event_types.WRITE_ROWS, 1, row(4)).query(f"XA END {A}")).gtid(2).query(f"XA COMMIT {A}")
    found = [record[2] for record in records(decoder(planner=lambda table: plan).feed(log.raw))]
    assert found == [b'"one"1', b'"one"2', b"null3", b'"two"4']
