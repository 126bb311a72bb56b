"""Errors by which a server refuses or ends a stream."""

from __future__ import annotations

import pymysql
import pytest

from replicator.errors import SourceUnavailable
from replicator.source.mysql import stream_errors

WHERE = "db:3306"


@pytest.mark.parametrize(
    ("number", "message", "code"),
    [
        (1236, "A replica with the same server_uuid/server_id as this replica has connected to the source", "E2207"),
        (1236, "A slave with the same server_uuid/server_id as this slave has connected to the master", "E2207"),
        (4052, "A slave with the same server_uuid/server_id is already connected", "E2207"),
        (1236, "Could not find first log file name in binary log index file", "E2206"),
        (1236, "Cannot replicate because the source purged required binary logs. ...", "E2206"),
        (1236, "Could not find GTID state requested by slave in any binlog files. Probably the slave state is too old "
               "and required binlog files have been purged.", "E2206"),
        (1236, "Slave has more GTIDs than the master has, using the master's SERVER_UUID. ...", "E2209"),
        (1236, "connecting slave requested to start from GTID 0-1-9, which is not in the master's binlog", "E2209"),
        (1236, "Client requested source to start replication from position > file size; impossible position", "E2209"),
        (1236, "bogus data in log event", "E2209"),
        (1236, "log event entry exceeded max_allowed_packet", "E2211"),
        (1227, "Access denied; you need (at least one of) the REPLICATION SLAVE privilege(s) for this", "E2104"),
        (1105, "anything else", "E2211"),
    ],
)  # fmt: skip
def test_the_server_ends_the_stream_for_good(number: int, message: str, code: str) -> None:
    error = stream_errors.stream_error(number, message, WHERE, "u", "binlog.000001:4")
    assert error.code == code
    assert not error.transient
    assert message.split(".")[0][:40] in str(error)


@pytest.mark.parametrize("number", [0, 1053, 1317, 1927, 2013, 3169])
def test_the_server_ends_the_stream_for_now(number: int) -> None:
    error = stream_errors.stream_error(number, "shutdown", WHERE, "u")
    assert isinstance(error, SourceUnavailable)
    assert error.code == "E2002"


def test_the_missing_privilege_is_taken_from_the_message() -> None:
    message = "Access denied; you need (at least one of) the SUPER, BINLOG MONITOR privilege(s) for this operation"
    error = stream_errors.stream_error(1227, message, WHERE, "o'brien")
    assert error.wanted == "BINLOG MONITOR"
    assert error.fix == "GRANT BINLOG MONITOR ON *.* TO 'o''brien'@'%';"


def test_a_command_that_is_refused_or_lost() -> None:
    taken = pymysql.err.OperationalError(1236, "Could not find first log file name in binary log index file")
    assert stream_errors.command_error(taken, WHERE, "u").code == "E2206"
    assert stream_errors.command_error(BrokenPipeError("gone"), WHERE, "u").code == "E2002"
