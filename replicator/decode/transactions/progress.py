"""Current place in the binlog: file, offset, executed GTIDs, start of the transaction."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, TypeAlias

import msgspec

from replicator.decode.binlog.event_types import HEARTBEAT
from replicator.errors import DecodeError, SourceError
from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.origin import Origin
from replicator.model.position import Inside, Position, Prepared

Flavor = Literal["mysql", "mariadb"]
Gtid: TypeAlias = "tuple[str, int] | tuple[int, int, int] | None"
"""(tsid, number) on MySQL, (domain, server, sequence) on MariaDB."""
_WRAP = 1 << 32
_BACKWARDS = 1 << 31


class State(IntEnum):
    BETWEEN = 0
    """At a transaction boundary."""
    ANNOUNCED = 1
    """A GTID event has come, and nothing of its transaction yet."""
    OPEN = 2
    BRANCH = 3
    """In an XA transaction: its rows wait for its end."""


class Progress:
    """
    Attributes:
        file, offset: end of the event at hand.
        at: its first byte.
        start: first byte of the transaction at hand.
        event_s: time of the event at hand, s since the epoch; 0 when it is no event of the file itself.
        prepared: XA transactions that are neither committed nor rolled back, by xid.
        tracked: False while the executed GTID set is not known: the stream began at a file position behind the start of
            a file, and the next file's list of earlier GTIDs has not come yet.
    """

    def __init__(self, position: Position, flavor: Flavor) -> None:
        self.file = position.file
        self.offset = position.offset
        self.at = position.offset
        self.start = position.offset
        self.event_s = 0
        self.tracked = bool(position.gtid)
        self.mysql = GtidSet.parse(position.gtid if flavor == "mysql" else "")
        self.mariadb = MariaDBPosition.parse(position.gtid if flavor == "mariadb" else "")
        self._executed: GtidSet | MariaDBPosition = self.mysql if flavor == "mysql" else self.mariadb
        self._flavor = flavor
        self._origin = position.server  # of the boundary
        self._ended: tuple[int, int] | None = None  # first byte and time of the event that ends there
        self._server = position.server.partition("/")[0]
        self._boundary = (position.file, position.offset)
        self._described = False
        self._reset = position.reset
        self.prepared = {each.xid: each for each in position.prepared}
        self._listed = position.prepared
        self._text: str | None = position.gtid
        self._after: str | None = None  # the set with the transaction at hand in it, where somebody asked
        self._whole_file = position.offset <= 4
        self._begun: Position | None = position if position.gtid else None

    def advance(self, log_pos: int, size: int, kind: int) -> None:
        """To the end that an event's header gives, modulo 4 GiB: binlogs may be longer than that."""
        step = (log_pos - self.offset) % _WRAP
        if step >= _BACKWARDS:
            if kind == HEARTBEAT:
                return
            raise DecodeError(
                "E2302", "the binlog goes backwards", found=f"end position {log_pos} after {self.offset} (mod 4 GiB)"
            )
        self.offset += step
        self.at = self.offset - size

    def rotate(self, file: str, offset: int) -> None:
        """The stream goes on in `file`; a boundary."""
        if self._server and self._described and Position(file, offset).order < Position(self.file, self.offset).order:
            raise SourceError(
                "E2218",
                "the binlog was reset while it was read",
                found=f"{file}:{offset} behind {self.file}:{self.offset}",
                wanted="a later file",
            )
        if file != self.file:
            self._server = self.server
        self.file, self.offset, self.event_s = file, offset, 0
        self._whole_file = offset <= 4
        self.settle()

    @property
    def server(self) -> str:
        """Which server the stream is of, whatever the file; "" where the source does not say."""
        return Origin.parse(self._server).server

    def described(self, created: int) -> None:
        """The file at hand was created then, s since the epoch. Raises SourceError E2218 when it is not the file that
        the position is of: the source has looked before it opened the stream, and files can be deleted meanwhile."""
        self._described = True
        known = Origin.parse(self._server)
        if not known.server or not created:
            return
        if known.created and known.created != created:
            raise SourceError(
                "E2218",
                f"{self.file} is another file than the one that was read before",
                found=f"created at {created} (s since the epoch)",
                wanted=f"created at {known.created}",
            )
        self._server = str(Origin(known.server, created))

    def settle(self) -> None:
        """AllTables up to here is done.

        A server that looks for the first transaction that we lack begins at the start of a file, and its heartbeats
        say how far it has looked: places before the one where we begin. That one stays, until there is something new.
        """
        if self._begun is not None:
            if self._text is self._begun.gtid and Position(self.file, self.offset).order < self._begun.order:
                return
            self._begun = None
        boundary = (self.file, self.offset)
        if self.event_s:
            self._origin, self._ended = self._server, (self.at, self.event_s)
        elif boundary != self._boundary or "@" not in self._origin:
            self._origin, self._ended = self._server, None
        self._boundary = boundary

    def _boundary_origin(self) -> str:
        if self._ended is not None and "@" in self._origin:
            self._origin, self._ended = f"{self._origin}/{self._ended[0]}:{self._ended[1]}", None
        return self._origin

    def execute(self, gtid: tuple[str, int] | tuple[int, int, int]) -> None:
        """The transaction is done."""
        if self._after is not None:
            self._text, self._after = self._after, None
            return
        if len(gtid) == 2:
            self.mysql.add(*gtid)
        else:
            self.mariadb.add(*gtid)
        self._text = None

    def _add(self, gtid: tuple[str, int] | tuple[int, int, int]) -> None:
        if len(gtid) == 2:
            self.mysql.add(*gtid)
        else:
            self.mariadb.add(*gtid)

    def executed(self, gtid: Gtid) -> str:
        """The executed set with the transaction at hand in it, as text; "" while it is not known."""
        before = self._gtid()
        if gtid is None or not self.tracked:
            return before
        if self._after is None:  # it is added ahead of time; its text without stays until the transaction is done
            self._add(gtid)
            self._after = str(self._executed)
        return self._after

    def earlier_mysql(self, executed: GtidSet) -> None:
        """What a file says was executed before it: taken when nothing better is known, and it is whole."""
        if not self.tracked and self._whole_file:
            self.mysql.update(executed)
            self.tracked, self._text = True, None

    def earlier_mariadb(self, executed: MariaDBPosition) -> None:
        if not self.tracked and self._whole_file:
            self.mariadb = self._executed = executed
            self.tracked, self._text = True, None

    def _gtid(self) -> str:
        if not self.tracked:
            return ""
        if self._text is None:
            self._text = str(self._executed)
        return self._text

    def prepare(self, xid: str, *, rows: bool) -> None:
        """The transaction at hand is an XA transaction that is prepared now. `rows`: it has rows for us."""
        self.prepared[xid] = Prepared(xid, self.file, self.start, self._gtid()) if rows else Prepared(xid, "", 0)
        self._listed = tuple(self.prepared.values())

    def decide(self, xid: str) -> None:
        """It is committed or rolled back."""
        if self.prepared.pop(xid, None) is not None:
            self._listed = tuple(self.prepared.values())

    def boundary(self) -> Position:
        """Behind the last transaction that is done."""
        return Position(*self._boundary, self._gtid(), 0, self._listed, self._reset, server=self._boundary_origin())

    def before(self) -> Position:
        """Before the transaction at hand; without the server, which places in the schema history do not name."""
        return Position(self.file, self.start, self._gtid(), 0, self._listed, self._reset)

    def inside(self, rows: int, inside: Inside) -> Position:
        """After `rows` rows of the transaction at hand."""
        known = self._boundary_origin() if (self.file, self.start) == self._boundary else ""
        server = known if "@" in known else self._server
        return msgspec.structs.replace(self.before(), rows=rows, inside=inside, server=server)

    def begin_again(self) -> None:
        """The transaction at the position is delivered once more, from its start: the positions that follow are ordered
        behind the one inside it, wherever that was."""
        self._reset += 1

    def __str__(self) -> str:
        return f"{self.file}:{self.at}"
