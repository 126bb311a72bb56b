"""The end of the log of a source, and its clock."""

from __future__ import annotations

import msgspec

from replicator.model.behind import Behind
from replicator.model.position import Position


class SourceEnd(msgspec.Struct, frozen=True):
    """`position`: where the source's log ends. `skew_ms`: its clock minus ours; None: it has none that can be read.
    `behind`: how far the position that was asked about is from there."""

    position: Position
    skew_ms: int | None = None
    behind: Behind = Behind()
