"""Which tables of a target are still being filled by a snapshot, for the sink."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Filling(msgspec.Struct, frozen=True):
    """Of an open snapshot, at one place of the stream. Names are `database.table` at the source.

    Attributes:
        selected: whether the snapshot has a table.
        incomplete: whether rows of it are still to come, so that changes may find their rows missing.
    """

    selected: Callable[[str], bool]
    incomplete: Callable[[str], bool]
