"""Reads the checksum algorithm from a FORMAT_DESCRIPTION event. Events have it since MySQL 5.6.1 and MariaDB 5.3;
before that the event ends with its table of lengths.

Source: `Format_description_event` of MySQL and MariaDB, `checksum_version_split`.
"""

from __future__ import annotations

import re
from typing import Final

_VERSION_AT: Final = 2
_VERSION_SIZE: Final = 50
_LENGTHS_AT: Final = 57
"""Byte of the body at which the lengths of the events' fixed parts begin, one byte for each type of event."""
_OLD_TYPES: Final = 27
"""MySQL 5.1 and 5.5 know types up to HEARTBEAT."""
_ALGORITHM: Final = 5
"""Bytes of the algorithm and of the event's own checksum, which is there whatever the algorithm is."""
_NUMBERS: Final = re.compile(rb"(\d+)\.(\d+)\.(\d+)")


def tells_checksum(body: bytes) -> bool:
    """`body`: of the event, to its last byte. True where it ends with an algorithm and a checksum of its own."""
    version = body[_VERSION_AT : _VERSION_AT + _VERSION_SIZE].rstrip(b"\0")
    numbers = _NUMBERS.match(version)
    if numbers is None or len(body) != _LENGTHS_AT + _OLD_TYPES:
        return True
    first = (5, 3, 0) if b"MariaDB" in version else (5, 6, 1)
    return tuple(map(int, numbers.groups())) >= first


def algorithm(body: bytes) -> int:
    """0: events have no checksum; 1: CRC32. `body`: as above."""
    return body[-_ALGORITHM] if tells_checksum(body) and len(body) >= _ALGORITHM else 0
