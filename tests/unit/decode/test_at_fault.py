"""Which errors are of one table, so that a task may go on without it, and which are of the stream."""

import struct

import pytest

from replicator.decode.binlog import event_types
from replicator.errors import ConfigError, DecodeError, ReplicatorError
from tests.unit.decode.binlog_writer import IDS, Log, decoder

SHORT = b"\0" + struct.pack("<h", 1)


def opened(**options):
    return Log(**options).insert(1, 1).gtid(2).query("BEGIN").map(IDS)


def stopped(log, **options):
    made = decoder(**options)
    with pytest.raises(ReplicatorError) as caught:
        for _ in range(2):
            made.feed(log.raw)
            log = Log(described=False)
    return caught.value


def test_rows_that_can_not_be_read():
    error = stopped(opened().rows(event_types.WRITE_ROWS, 1, SHORT).xid())
    assert (error.code, error.table) == ("E2302", IDS.qualified)


def test_without_checksums_nobody_knows_whose_fault_it_is():
    error = stopped(opened(checksum=False).rows(event_types.WRITE_ROWS, 1, SHORT).xid())
    assert (error.code, error.table) == ("E2302", "")


def test_a_plan_that_can_not_be_made():
    def planner(table):
        raise ConfigError("E1007", f"two tables get the same topic as {table.qualified}")

    error = stopped(opened(), planner=planner)
    assert (error.code, error.table) == ("E1007", IDS.qualified)


def test_what_is_of_the_stream():
    damaged = bytearray(opened().raw)
    damaged[-3] ^= 1
    made = decoder()
    with pytest.raises(DecodeError) as caught:
        for raw in (bytes(damaged), b""):
            made.feed(raw)
    assert (caught.value.code, caught.value.table) == ("E2302", "")
