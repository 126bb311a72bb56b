"""Settings of the session in the status variables of a QUERY event (`Query_event`; MariaDB: `Query_log_event`).

Each variable has a code and a length that only the code tells. They come in the order of `write` in both servers, and
those behind the fraction of a second are not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from replicator.model.metadata_event import StatementSettings

_FLAGS2, _SQL_MODE, _AUTO_INCREMENT, _CHARSET, _TIME_ZONE, _CATALOG = 0, 1, 3, 4, 5, 6
_LC_TIME_NAMES, _CHARSET_DATABASE, _TABLE_MAP, _DATA_WRITTEN, _INVOKER, _DATABASES = 7, 8, 9, 10, 11, 12
_MICROSECONDS: Final = frozenset({13, 128})
"""Q_MICROSECONDS of MySQL, Q_HRNOW of MariaDB."""
_MARIADB_COLLATIONS: Final = 131
_FIXED: Final = {
    _FLAGS2: 4,
    _SQL_MODE: 8,
    _AUTO_INCREMENT: 4,
    _CHARSET: 6,
    _LC_TIME_NAMES: 2,
    _CHARSET_DATABASE: 2,
    _TABLE_MAP: 8,
    _DATA_WRITTEN: 4,
    **dict.fromkeys(_MICROSECONDS, 3),
}
_TOO_MANY_DATABASES: Final = 254
_NO_FOREIGN_KEY_CHECKS: Final = 1 << 26
"""OPTION_NO_FOREIGN_KEY_CHECKS."""


def read(status: bytes) -> StatementSettings:
    """What is known up to the first variable that is not."""
    flags = mode = microsecond = at = 0
    zone = ""
    while at < len(status):
        code, at = status[at], at + 1
        if code in (_TIME_ZONE, _CATALOG) and at < len(status):
            size, at = status[at], at + 1
            if code == _TIME_ZONE:
                zone = status[at : at + size].decode("ascii", "replace")
        elif code in _FIXED:
            size = _FIXED[code]
            value = int.from_bytes(status[at : at + size], "little")
            flags, mode = (value if code == _FLAGS2 else flags), (value if code == _SQL_MODE else mode)
            microsecond = value if code in _MICROSECONDS else microsecond
        elif code in _VARIABLE and at < len(status):
            size = _VARIABLE[code](status, at)
        else:
            break
        at += size
    return StatementSettings(mode, zone, not flags & _NO_FOREIGN_KEY_CHECKS, microsecond)


def _invoker(status: bytes, at: int) -> int:
    """Bytes of two texts, of which each has its length in front."""
    size = 1 + status[at]
    return size + 1 + status[at + size] if at + size < len(status) else size


def _databases(status: bytes, at: int) -> int:
    """Bytes of a count and as many texts that end with a zero."""
    if status[at] == _TOO_MANY_DATABASES:
        return 1
    end = at + 1
    for _ in range(status[at]):
        end = status.find(0, end) + 1 or len(status)
    return end - at


def _collations(status: bytes, at: int) -> int:
    """Bytes of a count and as many pairs of numbers."""
    return 1 + 4 * status[at]


_VARIABLE: Final[dict[int, Callable[[bytes, int], int]]] = {
    _INVOKER: _invoker,
    _DATABASES: _databases,
    _MARIADB_COLLATIONS: _collations,
}
