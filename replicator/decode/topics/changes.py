"""What a record says of a row, whatever its format."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from replicator.decode.topics.rows import Values


class RowChange(msgspec.Struct, frozen=True):
    """
    Attributes:
        before: of a row that is no longer there, or has another key now; None: the row was not there, or is not needed.
        after: None: the row is deleted.
        source_ms: time of the change at the source, ms since the epoch; 0: not known.
    """

    database: str
    table: str
    before: Values | None
    after: Values | None
    source_ms: int = 0


class Form(msgspec.Struct, frozen=True):
    """How a format is read. Both functions raise DecodeError without a position.

    Attributes:
        change: value of a record -> the change; None: it is of no row. Raises E2348, E2349.
        key: key of a record of a row -> names of the columns in it, in lower case. Raises E2348.
    """

    change: Callable[[bytes], RowChange | None]
    key: Callable[[bytes | None], frozenset[str]]
