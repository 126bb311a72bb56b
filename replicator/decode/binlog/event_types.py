"""Event types of the binlog, MySQL up to 9.7 and MariaDB from 10.11: codes, names and the common header.

Header, 19 bytes, little endian (MySQL `libs/mysql/binlog/event/binlog_event.h`, MariaDB `sql/log_event.h`):
timestamp 4, type 1, server id 4, size of the event with header and checksum 4, end position in the file 4
(modulo 4 GiB), flags 2.
"""

from __future__ import annotations

import struct
from typing import Final

HEADER: Final = struct.Struct("<IBIIIH")
HEADER_SIZE: Final = 19
MAGIC: Final = b"\xfebin"
CHECKSUM_SIZE: Final = 4

FLAG_IN_USE: Final = 0x01
"""In FORMAT_DESCRIPTION: the file was not closed."""
FLAG_ARTIFICIAL: Final = 0x20
"""Made by the server for this stream; not in the file."""
FLAG_IGNORABLE: Final = 0x80
"""A replica that does not know the type may skip it."""

QUERY: Final = 2
STOP: Final = 3
ROTATE: Final = 4
INTVAR: Final = 5
RAND: Final = 13
USER_VAR: Final = 14
FORMAT_DESCRIPTION: Final = 15
XID: Final = 16
BEGIN_LOAD_QUERY: Final = 17
EXECUTE_LOAD_QUERY: Final = 18
TABLE_MAP: Final = 19
WRITE_ROWS_V1: Final = 23
UPDATE_ROWS_V1: Final = 24
DELETE_ROWS_V1: Final = 25
INCIDENT: Final = 26
HEARTBEAT: Final = 27
IGNORABLE: Final = 28
ROWS_QUERY: Final = 29
WRITE_ROWS: Final = 30
UPDATE_ROWS: Final = 31
DELETE_ROWS: Final = 32
GTID: Final = 33
ANONYMOUS_GTID: Final = 34
PREVIOUS_GTIDS: Final = 35
TRANSACTION_CONTEXT: Final = 36
VIEW_CHANGE: Final = 37
XA_PREPARE: Final = 38
PARTIAL_UPDATE_ROWS: Final = 39
TRANSACTION_PAYLOAD: Final = 40
HEARTBEAT_V2: Final = 41
GTID_TAGGED: Final = 42
MARIADB_ANNOTATE_ROWS: Final = 160
MARIADB_BINLOG_CHECKPOINT: Final = 161
MARIADB_GTID: Final = 162
MARIADB_GTID_LIST: Final = 163
MARIADB_START_ENCRYPTION: Final = 164
MARIADB_QUERY_COMPRESSED: Final = 165
MARIADB_WRITE_ROWS_COMPRESSED_V1: Final = 166
MARIADB_UPDATE_ROWS_COMPRESSED_V1: Final = 167
MARIADB_DELETE_ROWS_COMPRESSED_V1: Final = 168
MARIADB_WRITE_ROWS_COMPRESSED: Final = 169
MARIADB_UPDATE_ROWS_COMPRESSED: Final = 170
MARIADB_DELETE_ROWS_COMPRESSED: Final = 171

_OLD: Final = {
    0: "UNKNOWN",
    1: "START_V3",
    6: "LOAD",
    7: "SLAVE",
    8: "CREATE_FILE",
    9: "APPEND_BLOCK",
    10: "EXEC_LOAD",
    11: "DELETE_FILE",
    12: "NEW_LOAD",
    20: "PRE_GA_WRITE_ROWS",
    21: "PRE_GA_UPDATE_ROWS",
    22: "PRE_GA_DELETE_ROWS",
}
_NOT_TYPES: Final = frozenset({"HEADER_SIZE", "CHECKSUM_SIZE", "FLAG_ARTIFICIAL", "FLAG_IN_USE", "FLAG_IGNORABLE"})

NAMES: Final[dict[int, str]] = _OLD | {
    value: name.removeprefix("MARIADB_")
    for name, value in list(globals().items())
    if isinstance(value, int) and name.isupper() and name not in _NOT_TYPES
}


def name(code: int) -> str:
    """For messages: the servers' name of an event type, with `_EVENT`; the number for an unknown one."""
    known = NAMES.get(code)
    return f"{known}_EVENT" if known else f"event type {code}"
