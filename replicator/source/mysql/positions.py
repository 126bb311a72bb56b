"""Positions in a server's binlog: the configured start, the current end, and whether a position can still be streamed
from.

`Position.gtid` is always the whole executed set at `file:offset`, never a part of it, because a later stream is opened
by that set: whatever is missing in it would be sent again.
"""

from __future__ import annotations

import time

import msgspec

from replicator.config.task import GtidPosition, LogPosition, MySQLSource
from replicator.errors import PositionGone, SourceError
from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.position import Position
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.binlog_layout import HEADER
from replicator.source.mysql import executed_gtids, origin, transaction_boundaries
from replicator.source.mysql.executed_gtids import EventLength, one_line
from replicator.source.mysql.logs import Log, current_log, logs
from replicator.source.mysql.origin import OriginReader
from replicator.source.mysql.preflight import check_log_bin
from replicator.source.mysql.stream_errors import PURGED_FIX

_GTID_LAG_TRIES = 6
_GTID_LAG_WAIT = 0.5


def end_position(session: Session, server: Server) -> Position:
    """Where the log ends now, with everything executed so far."""
    if server.mariadb:
        end = executed_gtids.mariadb_end(session, server)
    else:
        status = current_log(session, server)
        end = Position(str(status[0]), int(status[1]), one_line("".join(status[4:5]))) if status is not None else None
    if end is None:
        check_log_bin(server)
        raise SourceError("E2201", "the server reports no binlog", found="an empty status", wanted="log_bin = ON")
    return end


def start_position(
    session: Session, server: Server, config: MySQLSource, event_length: EventLength, read_origin: OriginReader
) -> Position:
    """Where the configured `start` is, with its origin.

    Args:
        event_length: bytes of the event at a position, asked for those that SHOW BINLOG EVENTS refuses.
        read_origin: see `origin.OriginReader`.
    """
    start = config.start
    if isinstance(start, LogPosition | GtidPosition):
        _confirm_start(session, server, start, read_origin)
    found = _start(session, server, config, event_length)
    return origin.of_start(found, read_origin)


def _start(session: Session, server: Server, config: MySQLSource, event_length: EventLength) -> Position:
    start = config.start
    if start == "latest":
        return end_position(session, server)
    if isinstance(start, LogPosition):
        return _start_at_file(session, server, start, event_length)
    first = _first_log(session, server)
    if isinstance(start, GtidPosition):
        return _start_at_gtid(server, start, first)
    if server.mariadb:
        return Position(first.file, HEADER, executed_gtids.mariadb_before(session, first.file))
    purged_set = one_line(session.value("SELECT @@GLOBAL.gtid_purged")) if server.get("gtid_mode") else ""
    return Position(first.file, HEADER, purged_set)


def by_gtid(server: Server, position: Position) -> bool:
    """Whether a stream from `position` is asked for by its GTID set; otherwise by file and offset."""
    return bool(position.gtid) and server.gtid


def check(session: Session, server: Server, position: Position, read_origin: OriginReader) -> Position:
    """`position` with its origin (see `origin.confirm`). Raises SourceError when the server can't send everything after
    it: E2206 purged, E2209 not known, E2218 of another binlog."""
    confirmed = origin.confirm(position, server.identity, logs(session), read_origin, by_gtid=by_gtid(server, position))
    if not by_gtid(server, position):
        _check_file(session, server, position)
    elif server.mariadb:
        _check_mariadb(session, server, position)
    else:
        _check_mysql(session, position)
    return confirmed


def _confirm_start(
    session: Session, server: Server, start: LogPosition | GtidPosition, read_origin: OriginReader
) -> None:
    """Raises SourceError E2218 where the configuration names another server, or another file of the same name."""
    place, gtid = (start, "") if isinstance(start, LogPosition) else (start.reached, start.gtid)
    if place is not None and place.server:
        position = Position(place.file, place.position, gtid, server=place.server)
        origin.confirm(position, server.identity, logs(session), read_origin, by_gtid=by_gtid(server, position))


def _start_at_file(session: Session, server: Server, start: LogPosition, event_length: EventLength) -> Position:
    bare = Position(start.file, start.position)
    _check_file(session, server, bare)
    read = executed_gtids.mariadb if server.mariadb else executed_gtids.mysql
    return msgspec.structs.replace(bare, gtid=read(session, start.file, start.position, event_length))


def _start_at_gtid(server: Server, start: GtidPosition, first: Log) -> Position:
    """file and offset are a lower bound: the server finds the first transaction that is not in the set."""
    if not server.gtid:
        raise SourceError(
            "E2210",
            "the task starts at a GTID set, but not every transaction of the server has a GTID",
            found=f"gtid_mode = {server.get('gtid_mode')}",
            wanted="gtid_mode = ON",
            fix="Start from a file and position, or set gtid_mode = ON in steps (OFF_PERMISSIVE, ON_PERMISSIVE, ON).",
        )
    text = str(MariaDBPosition.parse(start.gtid) if server.mariadb else GtidSet.parse(start.gtid))
    return Position(first.file, HEADER, text)


def _first_log(session: Session, server: Server) -> Log:
    check_log_bin(server)
    return logs(session)[0]


def _check_file(session: Session, server: Server, position: Position) -> None:
    """The file is still there and `offset` is the start of an event between transactions, or the end of the file."""
    check_log_bin(server)
    there = logs(session)
    log = next((log for log in there if log.file == position.file), None)
    if log is None:
        last = Position(there[-1].file, 0)
        if position.order > last.order or position.log != last.log:
            raise _unknown(position, f"the last file is {last.file}")
        raise purged(f"the oldest file is {there[0].file}", f"{position.file} from byte {position.offset} on", position)
    if position.offset > log.size:
        raise _unknown(position, f"the file ends at {log.size}")
    if position.offset in (HEADER, log.size):
        return
    try:
        event = session.rows("SHOW BINLOG EVENTS IN %s FROM %s LIMIT 1", (position.file, position.offset))[0]
    except (SourceError, IndexError) as error:
        if isinstance(error, SourceError) and error.code != "E2211":
            raise
        raise _unknown(position, f"no event begins there ({error})") from error
    if int(event[1]) != position.offset:
        raise _unknown(position, f"no event begins there; the next one begins at {event[1]}")
    if not transaction_boundaries.is_between_transactions(session, server, position, event):
        raise _unknown(position, f"an event {event[2]} inside a transaction")


def _check_mysql(session: Session, position: Position) -> None:
    missing = one_line(session.value("SELECT GTID_SUBTRACT(@@GLOBAL.gtid_purged, %s)", (position.gtid,)))
    if missing:
        raise purged(f"gtid_purged contains transactions that the task has not delivered: {missing}", missing, position)
    # A transaction can reach us moments before its server counts it as executed: give it that time.
    for _ in range(_GTID_LAG_TRIES):
        ahead = one_line(session.value("SELECT GTID_SUBTRACT(%s, @@GLOBAL.gtid_executed)", (position.gtid,)))
        if not ahead:
            return
        time.sleep(_GTID_LAG_WAIT)
    raise _ahead(ahead, position)


def _check_mariadb(session: Session, server: Server, position: Position) -> None:
    """Only where numbers of one server id are compared; all other cases the server itself decides when it is asked."""
    ours = _mariadb_parse(position.gtid)
    first = logs(session)[0].file
    for domain, (server_id, number) in _mariadb_parse(executed_gtids.mariadb_before(session, first)).items():
        delivered = ours.get(domain, (server_id, 0))
        if delivered[0] == server_id and delivered[1] < number:
            lost = f"{domain}-{server_id}-{delivered[1] + 1} to {domain}-{server_id}-{number}"
            raise purged(f"the oldest file, {first}, begins after {domain}-{server_id}-{number}", lost, position)
    newest = _mariadb_parse(one_line(session.value("SELECT @@GLOBAL.gtid_binlog_pos")))
    for domain, (server_id, number) in ours.items():
        there = newest.get(domain, (server_id, 0))
        if there[0] == server_id and there[1] < number:
            raise _ahead(f"{domain}-{server_id}-{there[1] + 1} to {domain}-{server_id}-{number}", position)


def purged(found: str, lost: str, position: Position) -> PositionGone:
    return PositionGone(
        "E2206",
        f"binlog that this task still needs was purged; this would be lost: {lost}",
        found=found,
        wanted=f"everything after {position.gtid or position}",
        fix=PURGED_FIX,
        position=str(position),
    )


def _ahead(what: str, position: Position) -> SourceError:
    return SourceError(
        "E2209",
        f"the server lacks transactions that this task has already delivered: {what}",
        found="the server lags, was restored, or has lost its newest transactions",
        wanted=f"a server that has executed {position.gtid}",
        fix="Connect the task to the server that has them, or create a new task.",
        position=str(position),
    )


def _unknown(position: Position, found: str) -> SourceError:
    return SourceError(
        "E2209",
        f"{position.file}:{position.offset} is not the start of a transaction",
        found=found,
        wanted="the offset of a transaction's first event",
        fix=f"Choose one from SHOW BINLOG EVENTS IN '{position.file}'.",
        position=str(position),
    )


def _mariadb_parse(text: str) -> dict[int, tuple[int, int]]:
    """domain -> (server id, sequence number)."""
    gtids = [tuple(map(int, gtid.split("-"))) for gtid in str(MariaDBPosition.parse(text)).split(",") if gtid]
    return {domain: (server, number) for domain, server, number in gtids}
