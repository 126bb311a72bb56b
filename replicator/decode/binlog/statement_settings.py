"""Settings of the session in the status variables of a QUERY event (`Query_event`; MariaDB: `Query_log_event`).

Each variable has a code and a length that only the code tells. They come in the order of `write` in both servers, and
those that are read here come first.
"""

from __future__ import annotations

from typing import Final

from replicator.model.metadata_event import StatementSettings

_FLAGS2, _SQL_MODE, _AUTO_INCREMENT, _CHARSET, _TIME_ZONE, _CATALOG = 0, 1, 3, 4, 5, 6
_FIXED: Final = {_FLAGS2: 4, _SQL_MODE: 8, _AUTO_INCREMENT: 4, _CHARSET: 6}
_NO_FOREIGN_KEY_CHECKS: Final = 1 << 26
"""OPTION_NO_FOREIGN_KEY_CHECKS."""


def read(status: bytes) -> StatementSettings:
    """What is known up to the first variable that is not."""
    flags = mode = at = 0
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
        else:
            break
        at += size
    return StatementSettings(mode, zone, not flags & _NO_FOREIGN_KEY_CHECKS)
