"""Where the stream stands: rotations, offsets, heartbeats, what stands last in a log."""

import struct

import pytest

from replicator.decode.binlog import event_types
from replicator.model.gtid import GtidSet
from replicator.model.position import Position
from tests.unit.decode.binlog_writer import IDS, UUID, Log, decoder, event, fails, packets, row


def test_rotation():
    log = Log().insert(1, 1)
    made = decoder()
    made.feed(log.raw)
    (batch,) = made.feed(Log(at=log.at, described=False).rotate("binlog.000002").raw)
    assert (batch.records, batch.boundary, batch.position) == ([], True, Position("binlog.000002", 4))
    (batch,) = made.feed(Log().insert(2, 7).raw)
    assert batch.position.file == "binlog.000002"
    assert batch.records[0][3] == f"{UUID}:2".encode()


@pytest.mark.parametrize("checksum", [True, False])
def test_the_servers_own_rotation_comes_before_anything_is_known(checksum):
    body = struct.pack("<Q", 1000) + b"binlog.000004"
    first = event(event_types.ROTATE, body, flags=event_types.FLAG_ARTIFICIAL, checksum=checksum, ts=0, end=0)
    log = Log(at=1000, checksum=checksum)
    made = decoder(position=Position("binlog.000004", 1000), framing="packet")
    (batch,) = made.feed(packets(first + log.insert(1, 5).raw))
    assert batch.position == Position("binlog.000004", log.at)


def test_table_ids_end_with_their_file():
    log = Log().insert(1, 1).rotate("binlog.000002")
    log.at = 4
    log.gtid(2).query("BEGIN").rows(event_types.WRITE_ROWS, 1, row(1))
    assert "table map" in fails(log, "E2302").what


@pytest.mark.parametrize("begin", [4, (1 << 32) - 200, (1 << 32) - 40, 5 << 32])
def test_positions_over_4_gib(begin):
    log = Log(at=begin)
    starts = []
    for number in range(1, 6):
        starts.append(log.at)
        log.gtid(number).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1))
        if number < 5:
            log.xid()
    whole, part = decoder(position=Position("binlog.000001", begin)).feed(log.raw)
    assert whole.position.offset == part.position.offset == starts[-1]


def test_a_stream_that_skips_transactions_keeps_true_offsets():
    """What a server filters by GTID is not in the stream; the next event's header tells where it stands."""
    log = Log()
    log.at = 9_000
    log.gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1))
    (part,) = decoder().feed(log.raw)
    assert part.position.offset == 9_000


def test_going_backwards_is_damage():
    log = Log(at=900).add(event_types.STOP, end=500)
    fails(log, "E2302", position=Position("binlog.000001", 900))


@pytest.mark.parametrize("offset", [1 << 60, 1 << 63, (1 << 64) - 1])
def test_an_offset_that_no_file_has_is_damage(offset):
    """On wire it has 64 bits without a sign."""
    place = b"\x02\x09\xfe" + struct.pack("<Q", offset) + b"\0"
    for log in (Log().rotate("binlog.000002", offset), Log().add(event_types.HEARTBEAT_V2, place)):
        assert str(offset) in fails(log, "E2302").found


def test_heartbeats():
    log = Log().insert(1, 1)
    made = decoder()
    made.feed(log.raw)
    (batch,) = made.feed(event(event_types.HEARTBEAT, b"binlog.000001", end=5000, ts=0))
    assert (batch.records, batch.boundary, batch.transactions) == ([], True, 0)
    assert batch.position == Position("binlog.000001", 5000)
    name = b"\x01" + bytes((13,)) + b"binlog.000001"
    place = b"\x02\x09\xfe" + struct.pack("<Q", 6 << 32)
    (batch,) = made.feed(event(event_types.HEARTBEAT_V2, name + place + b"\0", end=0, ts=0))
    assert batch.position == Position("binlog.000001", 6 << 32)


@pytest.mark.parametrize(
    ("flavor", "kind", "body"),
    [
        ("mysql", event_types.PREVIOUS_GTIDS, GtidSet.parse(f"{UUID}:1-9").encode()),
        ("mariadb", event_types.MARIADB_GTID_LIST, struct.pack("<IIIQ", 1, 0, 1, 9)),
        ("mariadb", event_types.MARIADB_BINLOG_CHECKPOINT, struct.pack("<I", 13) + b"binlog.000001"),
    ],
)
def test_what_may_stand_last_in_a_log_moves_the_position(flavor, kind, body):
    made = decoder(position=Position("binlog.000002", 4), flavor=flavor)
    log = Log().add(kind, body)
    (batch,) = made.feed(log.raw)
    assert (batch.records, batch.boundary) == ([], True)
    assert (batch.position.file, batch.position.offset) == ("binlog.000002", log.at)
    if kind == event_types.MARIADB_BINLOG_CHECKPOINT:
        assert made.counters["BINLOG_CHECKPOINT_EVENT"] == 1


def test_a_server_that_looks_for_where_we_begin_moves_no_position_back():
    """It was opened by GTIDs: the server begins at the start of the file, and its heartbeats say how far it looked."""
    begun = Position("binlog.000002", 75_000, f"{UUID}:1-9")
    made = decoder(position=begun)
    rotation = struct.pack("<Q", 4) + b"binlog.000002"
    looked = [
        event(event_types.ROTATE, rotation, end=0, ts=0),
        event(event_types.HEARTBEAT, b"binlog.000002", end=71_000, ts=0),
    ]
    for raw in looked:
        assert [batch.position for batch in made.feed(raw)] == [begun]
    (batch,) = made.feed(event(event_types.HEARTBEAT, b"binlog.000002", end=75_100, ts=0))
    assert batch.position == Position("binlog.000002", 75_100, f"{UUID}:1-9"), "it has passed where we began"
    made = decoder(position=begun)
    log = Log().gtid(10).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1)).xid()
    made.feed(looked[0])
    *_, batch = made.feed(log.raw)
    assert batch.position.gtid == f"{UUID}:1-10" and batch.position.offset == log.at, "another server's place"


def test_heartbeats_inside_a_transaction_say_nothing():
    log = Log().gtid(1).query("BEGIN").add(event_types.HEARTBEAT, b"binlog.000001", end=300)
    assert decoder().feed(log.raw) == []


@pytest.mark.parametrize("gtid", [True, False])
def test_an_error_names_the_transaction_and_where_it_ends(gtid):
    log = Log().insert(1, 1)
    start = log.at
    if gtid:
        log.gtid(2)
    error = fails(log.query("BEGIN").rows(event_types.WRITE_ROWS, 99, row(1)), "E2302")
    assert error.transaction == (f"{UUID}:2" if gtid else f"binlog.000001:{start}")
    assert error.to_dict()["transaction"] == error.transaction


def test_between_transactions_an_error_is_of_none():
    error = fails(Log().insert(1, 1).add(event_types.XID, bytes(8)), "E2302")
    assert (error.transaction, error.transaction_end) == ("", "")
    assert "transaction" not in error.to_dict()
