"""A position in a binlog stream: a value that is compared, stored and resumed from."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from replicator.model.snapshot import SnapshotProgress
from replicator.model.topic_offsets import TopicOffsets, shown, total

Begin: TypeAlias = Literal["latest", "earliest"]
TOPICS = "topics"
"""`Position.file` of positions in topics."""
_FILE = re.compile(r"^(?P<base>.+)\.(?P<number>\d+)$")


class Prepared(msgspec.Struct, frozen=True, omit_defaults=True):
    """A transaction that XA PREPARE has ended and that is neither committed nor rolled back: its rows are read again
    from here when a stream begins behind it.

    Attributes:
        xid: as the server writes it in XA COMMIT: `X'gtrid',X'bqual',format`.
        file, offset, gtid: of its first event, and the executed GTID set before it, as in `Position`; offset 0 of one
            that has no rows for us.
    """

    xid: str
    file: str
    offset: int
    gtid: str = ""


class CatchUp(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was left out of a table, being delivered now, while the stream itself waits.

    Attributes:
        table: `database.table`.
        time_ms: which time in quarantine of the table's this was.
        at: how far it is.
        done: it has reached the position of the stream.
    """

    table: str
    time_ms: int
    at: Position
    done: bool = False


class Inside(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `Position.rows` counts, and the same place without counting records.

    Attributes:
        rule: fingerprint of the configuration that the rows were numbered by (`config/numbering.py`). Under another one
            the same number means another row.
        event: row events of the transaction up to here, those of tables that are not replicated among them. This does
            not depend on the configuration, but on the log: another server may cut the same rows into other events.
    """

    rule: str
    event: int


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything as in `Position`."""

    file: str
    offset: int
    gtid: str = ""
    server: str = ""


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """The start of a transaction and how many of its rows are already delivered.

    A stream is always opened at the start of a transaction: one that is resumed in the middle gives rows without their
    table map, which readers skip without an error. What was delivered of that transaction is then skipped.

    Attributes:
        file: binlog file name, e.g. `binlog.000003`.
        offset: byte offset in `file` of the transaction's first event (its GTID event), or of the next event when
            everything before it is done.
        gtid: the executed GTID set *before* that transaction in the server's own notation: MySQL `uuid:1-5,...`,
            MariaDB `0-1-100,1-2-5`; empty when the source has no GTIDs.
        rows: rows of that transaction already delivered; 0 at a transaction boundary.
        prepared: XA transactions that were prepared before this position and whose end comes behind it.
        reset: how often an operator has set the task's position. Of two positions the one with the higher number
            counts, wherever they stand: it was ordered after the other one was reached.
        catch_up: what has to be delivered before the stream goes on from here.
        unseen: an operator has set it, or it was restored from a backup; the task had read up to here, which may be
            before it, or in another log. A stream that begins at the new position does not hand it on.
        inside: how `rows` were counted; None at a transaction boundary.
        server: whose binlog `file` and `offset` are of (see `Origin`); "" where an operator has set the position and no
            stream has begun there yet.
        snapshot: rows from before the stream: how many of them are delivered; None: none are wanted.
        topics: of a source that is topics: what is delivered of each partition. `file` is `TOPICS` then, and `offset`
            the sum of all offsets.
        begin: an operator has ordered this end of the source's log, and no session has asked the source for it yet.
            `file` and `offset` say nothing then.
    """

    file: str
    offset: int
    gtid: str = ""
    rows: int = 0
    prepared: tuple[Prepared, ...] = ()
    reset: int = 0
    catch_up: CatchUp | None = None
    unseen: Place | None = None
    inside: Inside | None = None
    server: str = ""
    snapshot: SnapshotProgress | None = None
    topics: tuple[TopicOffsets, ...] = ()
    begin: Begin | None = None

    @classmethod
    def of_topics(cls, topics: tuple[TopicOffsets, ...]) -> Position:
        return cls(TOPICS, total(topics), topics=topics)

    @property
    def boundary(self) -> bool:
        """True when nothing of the transaction at this position is delivered."""
        return self.rows == 0

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts positions of one server's binlog. Names without a number sort first."""
        match = _FILE.match(self.file)
        return (int(match["number"]) if match else -1, self.offset, self.rows)

    @property
    def log(self) -> str:
        """The file's name without its number: offsets are only compared within one log."""
        match = _FILE.match(self.file)
        return match["base"] if match else self.file

    @property
    def transaction_start(self) -> Position:
        """With nothing delivered of the transaction."""
        return msgspec.structs.replace(self, rows=0, inside=None)

    def __str__(self) -> str:
        if self.begin is not None:
            return self.begin
        if self.topics:
            return shown(self.topics)
        return f"{self.file}:{self.offset}" + (f"+{self.rows}" if self.rows else "")
