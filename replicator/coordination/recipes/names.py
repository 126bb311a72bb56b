"""Names of locks, barriers, queues and series of ids."""

from __future__ import annotations

from typing import Final

from replicator.errors import ProcessError

MAX_BYTES: Final = 200


def checked(name: str, of: str) -> str:
    """Any text has an escaped form; what is refused are names that people cannot see or type. Raises E5140."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0  # bytes of the command line that are not UTF-8
    if not name.strip() or not size or size > MAX_BYTES or not name.isprintable():
        raise ProcessError(
            "E5140",
            f"this is not the name of a {of}",
            found=repr(name[:60]),
            wanted=f"1 to {MAX_BYTES} bytes of UTF-8 that can be printed",
        )
    return name
