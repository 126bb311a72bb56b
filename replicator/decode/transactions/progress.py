"""Current position in the binlog: file, offset, executed GTIDs, start of the transaction."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from replicator.decode.binlog.event_types import HEARTBEAT
from replicator.decode.transactions.transaction_state import Gtid, TransactionState
from replicator.errors import DecodeError, SourceError
from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.origin import Origin
from replicator.model.position import Inside, Position, Prepared

Flavor = Literal["mysql", "mariadb"]
_WRAP = 1 << 32
_BACKWARDS = 1 << 31


class Progress:
    """
    Attributes:
        state: has the offsets of the current event and transaction in `file`.
        event_s: time of the event at hand, s since the epoch; 0 when it is no event of the file itself.
        prepared: XA transactions that are neither committed nor rolled back, by xid.
        tracked: False while the executed GTID set is not known: the stream began at a file position behind the start of
            a file, and the next file's list of earlier GTIDs has not come yet.
    """

    def __init__(self, state: TransactionState, position: Position, flavor: Flavor) -> None:
        self.state = state
        self.file = position.file
        state.offset = state.at = state.start = position.offset
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
        state = self.state
        step = (log_pos - state.offset) % _WRAP
        if step >= _BACKWARDS:
            if kind == HEARTBEAT:
                return
            raise DecodeError(
                "E2302",
                "positions in the binlog decrease",
                found=f"end position {log_pos} after {state.offset} (mod 4 GiB)",
            )
        state.offset += step
        state.at = state.offset - size

    def rotate(self, file: str, offset: int) -> None:
        """The stream goes on in `file`; a boundary."""
        state = self.state
        if self._server and self._described and Position(file, offset).order < Position(self.file, state.offset).order:
            raise SourceError(
                "E2218",
                "the binlog was reset during reading",
                found=f"{file}:{offset} behind {self.file}:{state.offset}",
                wanted="a later file",
            )
        if file != self.file:
            self._server = self.server
        self.file, state.offset, self.event_s = file, offset, 0
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
                f"{self.file} is not the file that was read before",
                found=f"created at {created} (s since the epoch)",
                wanted=f"created at {known.created}",
            )
        self._server = str(Origin(known.server, created))

    def settle(self) -> None:
        """Everything up to here is done.

        A server that looks for the first transaction that we lack begins at the start of a file, and its heartbeats
        say how far it has looked: places before the one where we begin. That one stays, until there is something new.
        """
        state = self.state
        if self._begun is not None:
            if self._text is self._begun.gtid and Position(self.file, state.offset).order < self._begun.order:
                return
            self._begun = None
        boundary = (self.file, state.offset)
        if self.event_s:
            self._origin, self._ended = self._server, (state.at, self.event_s)
        elif boundary != self._boundary or "@" not in self._origin:
            self._origin, self._ended = self._server, None
        self._boundary = boundary

    def settle_at(self, offset: int, at: int, event_s: int) -> None:
        """As `settle` after the event that ends at `offset`; the state may be ahead of it."""
        state = self.state
        now = state.offset, state.at
        state.offset, state.at, self.event_s = offset, at, event_s
        self.settle()
        state.offset, state.at = now

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

    def execute_range(self, *gtids: Any) -> None:
        """Several at once: (tsid, first, last) of MySQL, (domain, server, last) of MariaDB."""
        if self._flavor == "mysql":
            self.mysql.add_range(*gtids)
        else:
            self.mariadb.add(*gtids)
        self._text = None

    @property
    def executed_ahead(self) -> bool:
        """The current transaction is in the executed set already, see `executed`."""
        return self._after is not None

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
        self.prepared[xid] = Prepared(xid, self.file, self.state.start, self._gtid()) if rows else Prepared(xid, "", 0)
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
        return Position(self.file, self.state.start, self._gtid(), 0, self._listed, self._reset)

    def inside(self, rows: int, inside: Inside) -> Position:
        """After `rows` rows of the transaction at hand."""
        known = self._boundary_origin() if (self.file, self.state.start) == self._boundary else ""
        server = known if "@" in known else self._server
        return msgspec.structs.replace(self.before(), rows=rows, inside=inside, server=server)

    def begin_again(self) -> None:
        """The transaction at the position is delivered once more, from its start: the positions that follow are ordered
        behind the one inside it, wherever that was."""
        self._reset += 1

    def __str__(self) -> str:
        return f"{self.file}:{self.state.at}"
