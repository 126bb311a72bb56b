"""Streams written by hand: what each event does to batches, positions and state."""

import struct
from typing import Self

import pytest

from replicator.decode.binlog import event_types
from replicator.errors import DecodeError, SourceError
from replicator.model import types
from replicator.model.gtid import GtidSet
from replicator.model.position import Inside, Position
from replicator.model.table import Column, Table
from tests.support.present import present
from tests.unit.decode.binlog_writer import (
    IDS,
    UUID,
    Log,
    decoder,
    event,
    fails,
    ids,
    packets,
    records,
    row,
    server_error,
)

OTHER = Table("other", "t", IDS.columns, (0,))


def test_transactions_become_one_batch_with_the_position_behind_them():
    log = Log().insert(1, 10, 11).insert(2, 12)
    (batch,) = decoder().feed(log.raw)
    assert ids([batch]) == [(10, 0), (11, 1), (12, 0)]
    assert [record[3].decode() for record in batch.records] == [f"{UUID}:1", f"{UUID}:1", f"{UUID}:2"]
    assert batch.position == Position("binlog.000001", log.at)
    assert (batch.boundary, batch.rows, batch.transactions, batch.source_ms) == (True, 3, 2, 5000)
    assert batch.size == sum(len(present(record[1])) + len(present(record[2])) for record in batch.records)


def test_a_batch_knows_the_commit_time_of_its_first_transaction_with_records():
    log = Log().gtid(1, 1_000_000).query("BEGIN").query("COMMIT")
    for number in (2, 3):
        log.gtid(number, number * 1_000_000).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(number)).xid()
    made = decoder()
    (batch,) = made.feed(log.raw)
    assert (batch.first_ms, batch.source_ms) == (2000, 3000)
    length = len(log.raw)
    log.gtid(4, 4_000_000).query("BEGIN").query("COMMIT")
    (batch,) = made.feed(log.raw[length:])
    assert (batch.first_ms, batch.source_ms) == (0, 4000)


def test_executed_gtids_follow_when_they_are_known():
    raw = Log().insert(3, 1).insert(5, 1).raw
    made = decoder(position=Position("binlog.000001", 4, f"{UUID}:1-2"))
    assert made.feed(raw)[0].position.gtid == f"{UUID}:1-3:5"
    assert made.position.gtid == f"{UUID}:1-3:5"
    assert decoder().feed(raw)[0].position.gtid == "", "unknown: nothing was said of what is before this file"


@pytest.mark.parametrize(
    ("start", "gtid"), [(4, f"{UUID}:1-2"), (900, "")], ids=["from the file's start", "from within the file"]
)
def test_previous_gtids_tell_the_executed_set(start, gtid):
    log = Log(at=start).add(event_types.PREVIOUS_GTIDS, GtidSet.parse(f"{UUID}:1").encode(), end=0 if start > 4 else -1)
    batches = decoder(position=Position("binlog.000001", start)).feed(log.insert(2, 1).raw)
    assert batches[0].position.gtid == gtid
    log = Log(at=start).rotate("binlog.000002")
    log.at = 4
    log.add(event_types.PREVIOUS_GTIDS, GtidSet.parse(f"{UUID}:1-4").encode())
    batches = decoder(position=Position("binlog.000001", start)).feed(log.insert(5, 1).raw)
    assert batches[0].position == Position("binlog.000002", log.at, f"{UUID}:1-5"), "and of the next file in any case"


def test_a_transaction_in_pieces():
    log = Log().insert(1, 10)
    start = log.at
    log.gtid(2).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(20) + row(21))
    first = log.raw
    rest = Log(at=log.at, described=False).rows(event_types.WRITE_ROWS, 1, row(22))
    second = rest.raw
    third = Log(at=rest.at, described=False).xid().gtid(3)
    made = decoder(position=Position("binlog.000001", 4, f"{UUID}:7"))
    whole, part = made.feed(first)
    assert (ids([whole]), whole.boundary, whole.position.offset) == ([(10, 0)], True, start)
    assert (ids([part]), part.boundary, part.rows, part.transactions) == ([(20, 0), (21, 1)], False, 2, 0)
    assert part.position == Position("binlog.000001", start, f"{UUID}:1:7", 2, inside=Inside("", 1))
    (part,) = made.feed(second)
    assert (ids([part]), part.position.rows, part.rows) == ([(22, 2)], 3, 1)
    (end,) = made.feed(third.raw)
    assert (end.records, end.rows, end.transactions, end.boundary) == ([], 0, 1, True)
    assert end.position == Position("binlog.000001", rest.at + 31, f"{UUID}:1-2:7")


def test_nothing_new_is_no_batch():
    made = decoder()
    log = Log()
    assert made.feed(log.raw) == []
    log.parts.clear()
    assert made.feed(log.gtid(1).query("BEGIN").map(IDS).raw) == []
    assert made.feed(b"") == []


@pytest.mark.parametrize("delivered", [0, 1, 2, 3, 4])
def test_resuming_inside_a_transaction(delivered):
    log = Log(at=500).gtid(2).query("BEGIN").map(IDS)
    log.rows(event_types.WRITE_ROWS, 1, row(1) + row(2) + row(3)).rows(event_types.WRITE_ROWS, 1, row(4)).xid().insert(
        3, 5
    )
    position = Position("binlog.000001", 500, f"{UUID}:1", delivered)
    (batch,) = decoder(position=position).feed(log.raw)
    left = [(value, value - 1) for value in range(1, 5)][delivered:]
    assert ids([batch]) == [*left, (5, 0)]
    assert batch.rows == len(left) + 1
    assert batch.size == sum(len(present(record[1])) + len(present(record[2])) for record in batch.records)


def test_resuming_in_pieces_gives_positions_that_count_all_rows():
    log = Log(at=500).gtid(2).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1) + row(2))
    made = decoder(position=Position("binlog.000001", 500, f"{UUID}:1", 3))
    assert made.feed(log.raw) == []
    log = Log(at=log.at, described=False).rows(event_types.WRITE_ROWS, 1, row(3) + row(4))
    (batch,) = made.feed(log.raw)
    assert (ids([batch]), batch.position.rows, batch.rows) == ([(4, 3)], 4, 1)


def test_resuming_a_transaction_that_is_shorter_than_what_was_delivered():
    position = Position("binlog.000001", 500, f"{UUID}:1", 2)
    assert "fewer rows" in fails(Log(at=500).insert(2, 1), "E2302", position=position).what


def test_nothing_moves_the_position_before_a_half_delivered_transaction():
    log = Log(at=500).add(event_types.HEARTBEAT, b"binlog.000001", end=500).rotate("binlog.000002")
    log.at = 4
    log.add(event_types.HEARTBEAT, b"binlog.000002", end=4)
    assert decoder(position=Position("binlog.000001", 500, f"{UUID}:1", 2)).feed(log.raw) == []


def test_ddl_is_a_transaction_of_its_own():
    log = Log().gtid(1).query("CREATE TABLE t (id INT)").gtid(2).query("DROP TABLE x")
    made = decoder(position=Position("binlog.000001", 4, f"{UUID}:9"))
    (batch,) = made.feed(log.raw)
    assert (batch.records, batch.rows, batch.transactions) == ([], 0, 2)
    assert batch.position == Position("binlog.000001", log.at, f"{UUID}:1-2:9")
    assert made.counters["ddl"] == 2


def test_ddl_within_a_transaction_does_not_end_it():
    log = Log().gtid(1).query("BEGIN").query("CREATE TABLE t (id INT) START TRANSACTION").map(IDS)
    (batch,) = decoder().feed(log.rows(event_types.WRITE_ROWS, 1, row(1)).xid().raw)
    assert (ids([batch]), batch.transactions) == ([(1, 0)], 1)


@pytest.mark.parametrize("kind", [event_types.WRITE_ROWS_V1, event_types.WRITE_ROWS])
def test_both_versions_of_row_events(kind):
    log = Log().gtid(1).query("BEGIN").map(IDS).rows(kind, 1, row(1) + row(2)).query("COMMIT")
    assert ids(decoder().feed(log.raw)) == [(1, 0), (2, 1)]


def test_tables_that_are_not_replicated_count_no_rows():
    log = Log().gtid(1).query("BEGIN").map(OTHER, 2).map(IDS).rows(event_types.WRITE_ROWS, 1, row(1), 2)
    log.rows(event_types.WRITE_ROWS, 1, row(2)).rows(event_types.WRITE_ROWS, 1, b"not even rows", 2).xid()
    (batch,) = decoder().feed(log.raw)
    assert (ids([batch]), batch.rows) == ([(2, 0)], 1)


def test_the_planner_is_asked_once_per_version():
    asked = []
    log = Log().insert(1, 1).insert(2, 2).map(IDS, 5).map(OTHER, 5).map(IDS, 5)
    decoder(planner=lambda table: asked.append(table)).feed(log.raw)
    assert asked == [IDS, OTHER]


def test_a_new_version_under_the_same_id():
    wide = Table("shop", "t", (*IDS.columns, Column(1, "b", types.TINY)), (0,))
    log = (
        Log()
        .insert(1, 1)
        .gtid(2)
        .query("BEGIN")
        .map(wide)
        .rows(event_types.WRITE_ROWS, 2, row(2) + b"\x09")
        .xid()
        .insert(3, 3)
    )
    assert [record[2] for record in records(decoder().feed(log.raw))] == [
        b'["01000000"]',
        b'["02000000","09"]',
        b'["03000000"]',
    ]


def test_rollback_drops_the_rows():
    log = Log().gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1)).query("ROLLBACK").insert(2, 2)
    (batch,) = decoder().feed(log.raw)
    assert (ids([batch]), batch.rows, batch.transactions) == ([(2, 0)], 1, 2)


def test_rollback_of_delivered_rows_stops():
    log = Log().gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1))
    made = decoder()
    made.feed(log.raw)
    with pytest.raises(DecodeError, match=r"E2301.*ROLLBACK"):
        made.feed(Log(at=log.at, described=False).query("ROLLBACK").raw)


def test_rollback_to_a_savepoint():
    log = Log().gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1)).query("SAVEPOINT `a`")
    log.rows(event_types.WRITE_ROWS, 1, row(2) + row(3)).query("ROLLBACK TO `a`").rows(
        event_types.WRITE_ROWS, 1, row(4)
    ).xid()
    (batch,) = decoder().feed(log.raw)
    assert (ids([batch]), batch.rows) == ([(1, 0), (4, 3)], 2)
    assert batch.size == sum(len(present(record[1])) + len(present(record[2])) for record in batch.records)
    resumed = decoder(position=Position("binlog.000001", 4, "", 1)).feed(log.raw)
    assert ids(resumed) == [(4, 3)]
    position = Position("binlog.000001", 4, "", 2)
    fails(log, "E2301", position=position)
    past = Position("binlog.000001", 4, "", 4)
    (batch,) = decoder(position=past).feed(log.raw)
    assert (batch.records, batch.boundary) == ([], True), "what came past the rollback had sent none of its rows"


def test_xa():
    one_phase = b"\x01" + struct.pack("<III", 1, 1, 0) + b"x"
    log = Log().gtid(1).query("XA START X'78',X'',1").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1))
    log.query("XA END X'78',X'',1")
    assert ids(decoder().feed(log.raw + event(event_types.XA_PREPARE, one_phase, at=log.at))) == [(1, 0)]


def test_xa_without_rows_for_us():
    log = Log().gtid(1).query("XA START X'78',X'',1").query("XA END X'78',X'',1")
    log.add(event_types.XA_PREPARE, b"\0" + struct.pack("<III", 1, 1, 0) + b"x").gtid(2).query("XA COMMIT X'78',X'',1")
    (batch,) = decoder().feed(log.raw)
    assert (batch.transactions, batch.rows) == (2, 0)
    fails(Log().gtid(1).query("XA COMMIT X'78',X'',1"), "E2301")
    assert decoder().feed(Log().gtid(1).query("XA ROLLBACK X'78',X'',1").raw)[0].transactions == 1


@pytest.mark.parametrize(
    ("text", "database", "refused"),
    [
        ("UPDATE t SET v=1", "shop", True),
        ("UPDATE t SET v=1", "other", False),
        ("UPDATE shop.t SET v=1", "other", True),
        ("UPDATE other.t SET v=1", "shop", False),
        ("UPDATE a, b SET a.v=1", "other", True),
    ],
)
def test_statements_that_change_rows(text, database, refused):
    log = Log().gtid(1).query("BEGIN").query(text, database).query("COMMIT")
    if refused:
        assert text in str(fails(log, "E2303"))
    else:
        assert decoder().feed(log.raw)[0].transactions == 1


@pytest.mark.parametrize(
    ("kind", "fix"),
    [
        (event_types.BEGIN_LOAD_QUERY, "binlog_format"),
        (event_types.EXECUTE_LOAD_QUERY, "binlog_format"),
        (20, "E2301"),
        (99, "E2301"),
    ],
)
def test_events_that_may_not_be_skipped(kind, fix):
    error = fails(Log().gtid(1).query("BEGIN").add(kind, bytes(20)), "E2301")
    assert event_types.name(kind) in error.what
    assert fix in str(error)


def test_unknown_events_that_may_be_skipped_are_counted():
    made = decoder()
    log = Log().add(99, b"?", flags=event_types.FLAG_IGNORABLE).add(event_types.ROWS_QUERY, b"\0x").insert(1, 1)
    assert ids(made.feed(log.raw)) == [(1, 0)]
    assert made.counters == {"event type 99": 1}


def test_incident():
    error = fails(Log().add(event_types.INCIDENT, b"\x01\x00\x04lost"), "E2305")
    assert error.found == "lost"


def test_what_was_complete_before_an_error_is_delivered():
    log = Log().insert(1, 1)
    good = log.at
    bad = log.gtid(2).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(2)).at
    log.add(99)
    made = decoder()
    (batch,) = made.feed(log.raw)
    assert (ids([batch]), batch.position.offset) == ([(1, 0)], good)
    for _ in range(2):
        with pytest.raises(DecodeError) as caught:
            made.feed(b"")
        assert caught.value.position == f"binlog.000001:{bad} (event type 99)"


def test_errors_of_the_server():
    payload = b"\xff" + struct.pack("<H", 1236) + b"#HY000purged"
    raw = packets(Log().raw) + len(payload).to_bytes(3, "little") + b"\x09" + payload
    made = decoder(framing="packet")
    with pytest.raises(SourceError, match="1236 HY000 purged"):
        made.feed(raw)


def test_a_wrong_checksum():
    raw = bytearray(Log().insert(1, 1).raw)
    raw[-5] ^= 1
    assert "checksum" in fails(bytes(raw), "E2302").what
    raw = bytearray(Log().raw)
    raw[30] ^= 1
    assert "checksum" in fails(bytes(raw), "E2302").what
    unchecked = bytearray(Log(checksum=False).insert(1, 1).raw)
    unchecked[-1] ^= 1
    assert ids(decoder().feed(bytes(unchecked))) == [(1, 0)]


@pytest.mark.parametrize(
    "log",
    [
        Log().gtid(1).gtid(2),
        Log().gtid(1).query("BEGIN").rotate("binlog.000002"),
        Log().gtid(1).query("BEGIN").add(event_types.FORMAT_DESCRIPTION, bytes(90)),
        Log().map(IDS).rows(event_types.WRITE_ROWS, 1, row(1)),
        Log().xid(),
        Log().gtid(1).query("BEGIN").rows(event_types.WRITE_ROWS, 1, row(1)),
        Log().gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 2, row(1)),
        Log().gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1)[:-1]),
        Log().gtid(1).query("BEGIN").map(IDS).add(event_types.WRITE_ROWS, bytes(3)),
        Log().add(event_types.TABLE_MAP, bytes(5)),
        Log().add(event_types.GTID, bytes(10)),
        Log().add(event_types.GTID_TAGGED, b"\x02\x04\x00"),
        Log().add(event_types.QUERY, bytes(4)),
        Log().add(event_types.ROTATE, bytes(8)),
        Log().add(event_types.PREVIOUS_GTIDS, b"\x01" + bytes(7)),
        Log().add(event_types.MARIADB_GTID_LIST, b"\x01" + bytes(7)),
        Log().add(event_types.FORMAT_DESCRIPTION, bytes(5)),
    ],
)
def test_broken_structure(log):
    assert fails(log, "E2302" if log.parts[-1][4] != event_types.PREVIOUS_GTIDS else "E2209").transient is False


def test_dummy_row_events_only_end_a_statement():
    log = Log().gtid(1).query("BEGIN").rows(event_types.WRITE_ROWS, 0, b"", 0xFFFFFF).query("COMMIT")
    assert decoder().feed(log.raw)[0].rows == 0


def test_without_gtids_the_position_is_the_transactions_start():
    log = Log()
    start = log.at
    log.add(event_types.ANONYMOUS_GTID, bytes(60)).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1)).xid()
    second = log.at
    log.query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1)).xid()
    (batch,) = decoder().feed(log.raw)
    assert [record[3].decode() for record in batch.records] == [f"binlog.000001:{start}", f"binlog.000001:{second}"]
    assert batch.source_ms == 1_000_000


class MariaDBLog(Log):
    def begin(self, number: int, *, domain: int = 0, flags: int = 0) -> Self:
        return self.add(event_types.MARIADB_GTID, struct.pack("<QIB", number, domain, flags) + bytes(6))


def test_mariadb():
    log = MariaDBLog().begin(5).map(IDS).rows(event_types.WRITE_ROWS_V1, 1, row(1)).xid()
    log.begin(6, flags=1).query("CREATE TABLE x (id INT)")
    log.begin(1, domain=2).map(IDS).rows(event_types.WRITE_ROWS_V1, 1, row(2)).query("COMMIT")
    made = decoder(flavor="mariadb", position=Position("binlog.000001", 4, "0-1-4"))
    (batch,) = made.feed(log.raw)
    assert [record[3] for record in batch.records] == [b"0-7-5", b"2-7-1"]
    assert (ids([batch]), batch.transactions, batch.position.gtid) == ([(1, 0), (2, 0)], 3, "0-7-6,2-7-1")


def test_mariadb_lists_its_gtids_at_a_files_start():
    body = struct.pack("<IIIQIIQ", 2, 0, 1, 4, 0, 2, 5)
    log = MariaDBLog().add(event_types.MARIADB_GTID_LIST, body)
    log.begin(6).map(IDS).rows(event_types.WRITE_ROWS_V1, 1, row(1)).xid()
    (batch,) = decoder(flavor="mariadb").feed(log.raw)
    assert batch.position.gtid == "0-7-6"
    log = MariaDBLog().add(event_types.MARIADB_GTID_LIST, body).begin(9, flags=1, domain=1).query("FLUSH TABLES")
    assert decoder(flavor="mariadb").feed(log.raw)[0].position.gtid == "0-2-5,1-7-9"


def test_encryption_is_the_servers_business_in_a_stream_and_an_end_in_a_file():
    log = Log().add(event_types.MARIADB_START_ENCRYPTION, bytes(20))
    fails(log, "E2301", flavor="mariadb")
    assert decoder(flavor="mariadb", framing="packet").feed(packets(log.raw)) == []


def test_server_error_helper_is_an_error_for_people():
    assert server_error(1, "HY000", "x").code == "E2211"
