"""The commands that turn a session into a binlog stream, as a replica sends them.

Sources: MySQL's protocol pages COM_REGISTER_SLAVE, COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID; MariaDB's "Replica
registration" and COM_BINLOG_DUMP pages.
"""

from __future__ import annotations

import struct

from replicator.config.task import MySQLSource
from replicator.errors import SourceError
from replicator.model.gtid import GtidSet
from replicator.model.position import Position
from replicator.mysql import server_errors
from replicator.mysql.identifiers import quote_account
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql import stream_errors
from replicator.source.mysql.positions import by_gtid

_COM_BINLOG_DUMP = 0x12
_COM_REGISTER_SLAVE = 0x15
_COM_BINLOG_DUMP_GTID = 0x1E
_THROUGH_GTID = 0x04
_FIRST = 4
_ANNOTATIONS = 0x02
"""MariaDB: send ANNOTATE_ROWS events, too."""
_MARIADB_CAPABILITY = 4
"""We know GTID events: without this MariaDB replaces them with events that old replicas understand."""


def start(
    session: Session,
    server: Server,
    config: MySQLSource,
    task: str,
    server_id: int,
    position: Position,
    *,
    statements: bool = False,
) -> None:
    """After this call the connection carries nothing but events.

    Args:
        statements: also the texts of the statements behind rows. MySQL has them in its stream whenever it logs them.

    Raises SourceError, SourceUnavailable.
    """
    flags = _ANNOTATIONS if statements and server.mariadb else 0
    _set_variables(session, server, config, position)
    register(session, server, task, server_id)
    if by_gtid(server, position) and not server.mariadb:
        command = _dump_gtid(server_id, GtidSet.parse(position.gtid).encode())
    elif by_gtid(server, position):
        command = _dump("", _FIRST, server_id, flags)
    else:
        command = _dump(position.file, _four_bytes(position), server_id, flags)
    _send(session, command)


def _set_variables(session: Session, server: Server, config: MySQLSource, position: Position) -> None:
    """User variables, which the server's dump thread reads; names differ by version, and unknown ones do no harm."""
    period = int(config.heartbeat_s * 1e9)
    checksum = server.get("binlog_checksum") or "NONE"
    wait = max(60, int(3 * config.heartbeat_s))
    session.rows(
        "SET @source_binlog_checksum = %s, @master_binlog_checksum = %s, @source_heartbeat_period = %s, "
        "@master_heartbeat_period = %s, @@SESSION.net_write_timeout = %s, @@SESSION.net_read_timeout = %s",
        (checksum, checksum, period, period, wait, wait),
    )
    if server.mariadb:
        session.rows("SET @mariadb_slave_capability = %s", (_MARIADB_CAPABILITY,))
        if by_gtid(server, position):
            session.rows(
                "SET @slave_connect_state = %s, @slave_gtid_strict_mode = 1, @slave_gtid_ignore_duplicates = 0",
                (position.gtid,),
            )


def host_label(task: str) -> str:
    """What SHOW REPLICAS shows as our host, so that people and `check` see which task reads."""
    return f"replicator:{task}"[:60]


def register(session: Session, server: Server, task: str, server_id: int) -> None:
    """Makes us visible in SHOW REPLICAS. User and password, which the command has room for, stay empty."""
    label = host_label(task).encode("ascii", "replace")
    body = struct.pack("<BIB", _COM_REGISTER_SLAVE, server_id, len(label)) + label
    body += b"\0\0" + struct.pack("<HII", 0, 0, 0)  # user, password, port, rank, id of our own source
    _send(session, body)
    try:
        session.packets.receive()
    except Exception as error:
        number = error.args[0] if error.args else 0
        if number in server_errors.LOGIN | server_errors.GRANT:
            account = quote_account(server.account)
            found = str(error.args[-1])
            raise server_errors.missing_privilege(session.side, account, "REPLICATION SLAVE", found) from error
        raise stream_errors.command_error(error, session.where, session.user) from error


def _dump(file: str, offset: int, server_id: int, flags: int) -> bytes:
    return struct.pack("<BIHI", _COM_BINLOG_DUMP, offset, flags, server_id) + file.encode()


def _four_bytes(position: Position) -> int:
    """The protocol has no room for more."""
    if position.offset > 0xFFFFFFFF:
        raise SourceError(
            "E2209",
            "the position is beyond 4 GiB of its binlog file, which requires GTIDs",
            found=f"{position.file}:{position.offset}",
            wanted="gtid_mode = ON, or smaller binlog files (max_binlog_size, which a single transaction may exceed)",
            position=str(position),
            fix="Set gtid_mode to ON in steps for later files. To continue here: `replicator task position set NAME` "
            "with the start of the next binlog file, and read the tables again with `replicator task snapshot start "
            "NAME --table DATABASE.TABLE`.",
        )
    return position.offset


def _dump_gtid(server_id: int, executed: bytes) -> bytes:
    head = struct.pack("<BHIIQ", _COM_BINLOG_DUMP_GTID, _THROUGH_GTID, server_id, 0, _FIRST)
    return head + struct.pack("<I", len(executed)) + executed


def _send(session: Session, body: bytes) -> None:
    try:
        session.packets.command(body)
    except Exception as error:
        raise stream_errors.command_error(error, session.where, session.user) from error
