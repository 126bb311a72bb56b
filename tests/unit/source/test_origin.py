"""Whether the server that answers is the one that a position was taken from."""

from __future__ import annotations

import pytest

from replicator.decode.transactions.progress import Progress
from replicator.decode.transactions.transaction_state import TransactionState
from replicator.errors import PositionGone, SourceError
from replicator.model.origin import Ended, Origin
from replicator.model.position import Inside, Position
from replicator.mysql.server import Server
from replicator.source.mysql.logs import Log
from replicator.source.mysql.origin import confirm

OURS, OTHER = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
INSIDE = Inside("", 0)
LOGS = [Log("binlog.000002", 900), Log("binlog.000003", 500)]
CREATED = {"binlog.000002": 1000, "binlog.000003": 2000}
EVENTS = {("binlog.000003", 369): (400, 2010), ("binlog.000003", 400): (431, 2011)}  # (file, at): (end, time)


def at(server: str, file: str = "binlog.000003", offset: int = 400, gtid: str = "") -> Position:
    return Position(file, offset, gtid, server=server)


def read_origin(position: Position, event: int | None) -> Origin:
    end, time = EVENTS.get((position.file, event or 0), (0, 0))
    found = Ended(event, time) if event is not None and end == position.offset else None
    return Origin(OURS, CREATED[position.file], found)


def confirmed(position: Position, server: str = OURS) -> str:
    by_gtid = bool(position.gtid)
    found = confirm(position, server, LOGS, read_origin, by_gtid=by_gtid)
    assert (found.file, found.offset, found.gtid) == (position.file, position.offset, position.gtid)
    return found.server


def refused(position: Position, server: str = OURS) -> SourceError:
    with pytest.raises(SourceError) as raised:
        confirmed(position, server)
    assert raised.value.code == "E2218" and not raised.value.transient
    assert "position set" in raised.value.fix
    return raised.value


def test_text() -> None:
    for origin in (Origin(""), Origin(OURS), Origin(OURS, 0), Origin("server_id 1", 5), Origin(OURS, 5, Ended(4, 9))):
        assert Origin.parse(str(origin)) == origin
    for unknown in (f"{OURS}@soon", f"{OURS}@1/2", f"{OURS}@1/2:", "@1@2"):
        assert Origin.parse(unknown) == Origin(unknown)


def test_identity() -> None:
    assert Server(False, (9, 7), "", {"server_uuid": OURS, "server_id": "1"}).identity == OURS
    assert Server(True, (10, 11), "", {"server_id": "7"}).identity == "server_id 7"


def test_same_file_of_same_server() -> None:
    assert confirmed(at(f"{OURS}@2000")) == f"{OURS}@2000"
    assert confirmed(at(f"{OURS}@2000", gtid=f"{OURS}:1-5")) == f"{OURS}@2000"


def test_event_before_the_position() -> None:
    """Two servers with one server_id may create a file of one name within one second."""
    for gtid in ("", f"{OURS}:1-5"):
        assert confirmed(at(f"{OURS}@2000/369:2010", gtid=gtid)) == f"{OURS}@2000/369:2010"
        for other in ("369:2011", "370:2010", "400:2011"):
            assert "before the position" in refused(at(f"{OURS}@2000/{other}", gtid=gtid)).what


def test_unknown_origin_of_a_file_position_is_learned() -> None:
    assert confirmed(at("")) == f"{OURS}@2000"
    assert confirmed(at(OURS)) == f"{OURS}@2000"


def test_file_position_of_another_server_is_refused() -> None:
    error = refused(at(f"{OTHER}@2000"))
    assert OTHER in error.wanted and OURS in error.found
    refused(at(OTHER))


def test_file_created_again_is_refused_also_by_gtid() -> None:
    """After RESET the same server_uuid gives the same GTIDs to other transactions; two MariaDBs have the same ids."""
    for gtid in ("", f"{OURS}:1-5"):
        assert "created at 2000" in refused(at(f"{OURS}@1999", gtid=gtid)).found


def test_file_that_ends_before_the_position_is_refused() -> None:
    for gtid in ("", f"{OURS}:1-5"):
        assert "ends at 500" in refused(at(f"{OURS}@2000", offset=501, gtid=gtid)).found


@pytest.mark.parametrize("file", ["binlog.000004", "other.000001"])
def test_file_that_never_was_is_refused(file: str) -> None:
    for gtid in ("", f"{OURS}:1-5"):
        refused(at(f"{OURS}@2000", file, gtid=gtid))


@pytest.mark.parametrize("position", [f"{OURS}@2500 binlog.000003", f"{OURS}@2500 binlog.000004"])
def test_a_restored_backup_is_not_taken_for_a_log_that_was_reset(
    position: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have the UUID, and it lacks what was delivered: a new snapshot would set consumers back."""
    server, file = position.split()
    monkeypatch.setitem(CREATED, "binlog.000003", 3000)
    for gtid in ("", f"{OURS}:1-5"):
        error = refused(at(server, file, gtid=gtid))
        assert not isinstance(error, PositionGone) and "older" in error.found
        monkeypatch.setitem(CREATED, "binlog.000002", 2600)
        assert isinstance(refused(at(server, file, gtid=gtid)), PositionGone), "all files were deleted"
        monkeypatch.setitem(CREATED, "binlog.000002", 1000)


def test_purged_file_is_left_to_the_check_of_positions() -> None:
    for gtid in ("", f"{OURS}:1-5"):
        assert confirmed(at(f"{OURS}@900", "binlog.000001", gtid=gtid)) == f"{OURS}@900"


def test_another_server_by_gtid_takes_over_and_its_files_are_not_compared() -> None:
    first = confirmed(at(f"{OTHER}@7", gtid=f"{OTHER}:1-5"))
    assert first == f"{OURS}@0"
    assert confirmed(at(first, "binlog.000009", gtid=f"{OTHER}:1-5")) == first
    assert confirmed(at("", "binlog.000009", gtid=f"{OTHER}:1-5")) == first
    refused(at(first))  # its GTIDs are off by now: the file is not known to be its own


def test_positions_of_a_stream_carry_the_origin_of_their_file() -> None:
    progress = Progress(TransactionState(), at(OURS), "mysql")
    progress.described(2000)
    assert progress.inside(1, INSIDE).server == f"{OURS}@2000"
    assert progress.boundary().server == OURS, "the boundary is the position that was given"
    progress.settle()
    assert progress.boundary().server == f"{OURS}@2000"
    progress.rotate("binlog.000004", 4)
    assert progress.boundary().server == OURS == progress.server
    progress.described(3000)
    progress.settle()
    assert progress.boundary().server == f"{OURS}@3000"


def test_positions_name_the_event_before_them() -> None:
    progress = Progress(TransactionState(), at(f"{OURS}@2000/369:2010"), "mysql")
    assert progress.boundary().server == f"{OURS}@2000/369:2010" == progress.inside(3, INSIDE).server
    progress.settle()  # a heartbeat
    assert progress.boundary().server == f"{OURS}@2000/369:2010"
    progress.state.at, progress.state.offset, progress.event_s = 400, 431, 2011
    progress.settle()
    progress.state.start, progress.state.at, progress.state.offset = 431, 450, 500
    assert progress.boundary().server == f"{OURS}@2000/400:2011" == progress.inside(1, INSIDE).server
    progress.rotate("binlog.000004", 4)
    assert progress.boundary().server == OURS


def test_stream_that_goes_back_is_refused() -> None:
    progress = Progress(TransactionState(), at(f"{OURS}@2000"), "mysql")
    progress.rotate("binlog.000002", 4)  # by GTID, a server begins where it likes
    progress.described(1000)
    progress.rotate("binlog.000003", 4)
    progress.rotate("binlog.000003", 4)
    progress.described(2000)
    for file in ("binlog.000002", "binlog.000001"):
        with pytest.raises(SourceError) as raised:
            progress.rotate(file, 4)
        assert raised.value.code == "E2218"


def test_stream_of_another_file_than_the_position_is_refused() -> None:
    progress = Progress(TransactionState(), at(f"{OURS}@2000"), "mysql")
    progress.described(2000)
    with pytest.raises(SourceError) as raised:
        progress.described(2001)
    assert raised.value.code == "E2218"


def test_stream_of_the_server_that_took_over_keeps_the_origin_of_the_given_file() -> None:
    progress = Progress(TransactionState(), at(f"{OURS}@0", gtid=f"{OTHER}:1-5"), "mysql")
    progress.rotate("binlog.000003", 4)
    progress.described(2000)
    progress.settle()  # a heartbeat: nothing new
    assert progress.boundary().server == f"{OURS}@0"
    progress.state.offset = 700
    progress.execute((OURS, 1))
    progress.settle()
    assert progress.boundary().server == f"{OURS}@2000"


def test_source_without_identity() -> None:
    progress = Progress(TransactionState(), Position("binlog.000001", 4), "mysql")
    progress.described(2000)
    progress.settle()
    assert progress.boundary().server == ""
