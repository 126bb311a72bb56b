"""Binlog events that a BINLOG statement executes: format description, table maps, rows.

Layout: `libs/mysql/binlog/event` of MySQL, `sql/log_event.h` of MariaDB. Events are without checksums, as the format
description says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final

from replicator.model.target_table import Operation
from replicator.mysql import table_map as maps
from replicator.mysql.table_map import MappedColumn

_FORMAT_DESCRIPTION: Final = 15
_TABLE_MAP: Final = 19
_ROWS: Final[dict[Operation, int]] = {"insert": 30, "read": 30, "update": 31, "delete": 32}
"""Version 2 of the events, which both servers read."""
_HEADER: Final = 19
_MYSQL_LENGTHS: Final = bytes.fromhex(
    "380d0008000000000400040000006300041a08000000000000020000000a0a0a2a2a001234000a280000"
)
"""Length of the header behind the common one, for each type of event from 1 on, as MySQL 8.0 to 9.7 say it."""
_MARIADB_LENGTHS: Final = (
    bytes.fromhex("380d000800120004040404120000e400041a08000000080808020000000a0a0a0000000000000a0a0a")
    + bytes(119)
    + bytes.fromhex("041304000d0808080a0a0a")
)
"""As MariaDB 10.3 to 11 say it: 171 types."""
_VERSIONS: Final = {False: b"8.0.36", True: b"10.11.0-MariaDB"}
"""Of a server whose events are like ours."""
_SOURCE: Final = 0x4D5352
"""Server id in our events. A server would leave out those with its own one: it is larger than people choose."""
_LAST: Final = 1
"""STMT_END_F: the server closes the tables behind this event, and passes over rows that come after it."""
_NO_FOREIGN_KEYS: Final = 2
_NO_CHECKSUM: Final = b"\0\0\0\0\0"
_TABLE_ID_BYTES: Final = 6


def format_description(*, mariadb: bool) -> bytes:
    """The event that has to come first in a session."""
    lengths = _MARIADB_LENGTHS if mariadb else _MYSQL_LENGTHS
    version = _VERSIONS[mariadb].ljust(50, b"\0")
    return _event(
        _FORMAT_DESCRIPTION, struct.pack("<H", 4) + version + bytes(4) + bytes((_HEADER,)) + lengths + _NO_CHECKSUM
    )


def table_map(database: str, name: str, columns: Sequence[MappedColumn], table_id: int) -> bytes:
    return _event(_TABLE_MAP, b"".join([maps.bare(database, name, columns, table_id), *maps.dimensions(columns)]))


def rows_header(
    operation: Operation,
    table_id: int,
    columns: int,
    present: bytes,
    size: int,
    *,
    last: bool,
    unchecked: bool = False,
) -> bytes:
    """Everything of an event of rows in front of the images, which have `size` bytes.

    Args:
        columns: of the table map.
        present: bitmap of the columns that the images have.
        last: no other event of the statement follows.
        unchecked: foreign keys are not checked, nor followed, as in the session of the change: it may have been one
            with foreign_key_checks = 0, or these rows the effect of a foreign key.
    """
    body = (
        table_id.to_bytes(_TABLE_ID_BYTES, "little")
        + struct.pack("<HH", (_LAST if last else 0) | (_NO_FOREIGN_KEYS if unchecked else 0), 2)
        + maps.packed(columns)
        + present * (2 if operation == "update" else 1)
    )
    return _header(_ROWS[operation], len(body) + size) + body


def bitmap(columns: int, present: Iterable[int]) -> bytes:
    chosen = frozenset(present)
    return maps.bits(index in chosen for index in range(columns))


def _header(kind: int, size: int) -> bytes:
    return struct.pack("<IBIIIH", 0, kind, _SOURCE, _HEADER + size, 0, 0)


def _event(kind: int, body: bytes) -> bytes:
    return _header(kind, len(body)) + body
