"""The payloads of the recipes' znodes."""

from __future__ import annotations

from replicator.coordination.records import Record


class ClaimRecord(Record):
    """A claim to a lock, or to the item of a queue: who made it. `timeout_s`: negotiated timeout of its session."""

    by: str
    host: str
    pid: int
    since_ms: int
    timeout_s: float


class PartyRecord(ClaimRecord, kw_only=True):
    """A party of a barrier. `parties`: how many it waits for; `round`: GUIDs of the parties that passed together, empty
    while it waits; `left`: it has left a double barrier."""

    parties: int
    round: tuple[str, ...] = ()
    left: bool = False


class ItemRecord(Record):
    """An item of a queue. `id` tells items of the same content apart."""

    id: str
    value: str
    by: str = ""
    time_ms: int = 0


class SequenceRecord(Record):
    """/ids/sequences/NAME: the first id that has not been given out."""

    next: int


class FencingRecord(Record):
    """/fencing: above every zxid of the ensembles that the tree was in before a backup of it was restored."""

    above: int


class DutyRecord(Record):
    """/master_election/DATE/DUTY/done: who has done it."""

    by: str
    host: str
    time_ms: int
