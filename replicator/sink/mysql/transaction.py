"""One transaction of the target: in one packet where it fits, else in as many as it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from replicator.errors import ReplicatorError, SinkError, SinkFenced, SinkUnavailable
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.mysql.multi_statements import Outcome
from replicator.mysql.statement_text import Text, joined, loads_of
from replicator.sink.mysql import errors, failed_row
from replicator.sink.mysql.branches.branches import FEWEST_BYTES, Branches
from replicator.sink.mysql.conflicts.resolver import Resolver
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.position_table import FENCE_STATEMENTS, PositionTable
from replicator.sink.mysql.row_groups import (
    EVENT_BYTES,
    Route,
    RoutedSection,
    RowGroup,
    Rows,
    events_size,
    size_of,
    text_size,
)
from replicator.sink.mysql.sql.load_mode import Loads

_BEGIN: Final = b"BEGIN"
_COMMIT: Final = b"COMMIT"
_SAVEPOINT: Final = b"SAVEPOINT replicator_part"
_TO_SAVEPOINT: Final = b"ROLLBACK TO SAVEPOINT replicator_part"
_PART_BYTES: Final = 8 << 20
"""Rows that wait for the rest of their transaction, at most."""
_ENDS: Final = 64
"""Bytes of BEGIN, COMMIT and the separators between them and the statements of a packet."""
_LONGEST_ENDS: Final = 4096
"""The same with the fence and the names of a branch."""


class _Begun(NamedTuple):
    """What `finish` needs to know. statements: of the packet of the main connection."""

    position: Position
    commit: str
    statements: int


class Transaction:
    """Nothing of it is visible, or left after a lost connection, before `commit`.

    Args:
        settle: called before the connection is used: it ends the commit before this one.

    Attributes:
        sequence: of the position row before it.
        resolver: of conflicts; None: every conflict is an error.
        branches: connections for a part of the rows; None: one connection writes them.
        loads: tables whose rows may be inserted by LOAD DATA; None: none.
        event_bytes: images in one event, unless a single row has more.
    """

    def __init__(
        self,
        target: Target,
        table: PositionTable,
        term: Term,
        sequence: int,
        resolver: Resolver | None = None,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self._target = target
        self._table = table
        self._term = term
        self._settle = settle
        self.sequence = sequence
        self.resolver = resolver
        self.branches: Branches | None = None
        self.loads: Loads | None = None
        self._parts: list[list[Text]] | None = None  # of the group; none: it is not divided; None: not known
        self._begun: _Begun | None = None
        self._open = False  # a part of it was executed
        self._statement: bytes | None = None  # with the position
        self._group = RowGroup()
        self._most = min(_PART_BYTES, events_size(target.room))
        self.event_bytes: Final = min(EVENT_BYTES, self._most // 2)

    def add(self, rows: Rows) -> None:
        """May execute what was added before. Raises what `commit` raises."""
        self._parts = None
        size = size_of(rows)
        if self._group and (self._group.size + size > self._most or not self._group.takes(rows)):
            self._execute(None)
        if rows.route.sql is None and text_size(size + rows.route.map_size) > self._target.largest:
            raise self._too_large(rows, size, text_size(size))
        self._group.add(rows, size)
        if self._group.size > self._most:
            self._execute(None)  # a long row: it is not kept while the next one is read

    def add_section(self, section: RoutedSection) -> bool:
        """The same for many rows at once. False: they have to be added one run after the other:
        images are converted, or in two versions of a table, or too many for one statement."""
        self._parts = None
        if any(route.transcode is not None for route in section.routes.values()):
            return False
        tables: dict[str, Route] = {}
        for route in section.routes.values():
            if not tables.setdefault(route.table, route).mixes(route):
                return False
        size = section.size
        whole = size + sum(route.map_size for route in tables.values())
        if whole > self._most:
            return False
        if self._group and (self._group.size + whole > self._most or not self._group.takes(section)):
            self._execute(None)
        self._group.add(section, size)
        return True

    def commit(self, position: Position, statement: bytes | None = None) -> int:
        """Returns the sequence of the position row after it. `statement`: see `PositionTable.fence`.

        Raises:
            SinkFenced: E3410, the position row is not this term's.
            SinkUnavailable: the outcome is unknown, or the server has rolled back for a reason that may pass.
            SinkError: a row is refused, or not what it is at the source; rolled back.
        """
        if self.divides():
            self.begin(position, statement)
            return self.finish()
        self._statement = statement
        self._execute(position)
        return self.sequence

    def divides(self) -> bool:
        """Whether its rows are written over several connections: then `begin` and `finish` may take the place of
        `commit`. Nothing is sent, so that the commit before it may still be executed; that may change the answer."""
        branches, group, resolver = self.branches, self._group, self.resolver
        if branches is None or self._open or group.size < FEWEST_BYTES:
            return False
        if resolver is not None and resolver.concerns(group.rows) and resolver.reads_first(group.rows):
            return False
        if not branches.ready():
            return False
        if self._parts is None:
            parts = group.divided(branches.count + 1) or []
            largest = max(map(_text_size, parts), default=0) + _LONGEST_ENDS
            self._parts = parts if largest <= self._target.room else []
        return bool(self._parts)

    def begin(self, position: Position, statement: bytes | None = None) -> None:
        """Sends all rows; nothing is committed before `finish`. Raises SinkUnavailable."""
        branches, parts = self.branches, self._parts
        assert branches is not None and parts is not None, "it divides"  # noqa: S101
        self._parts, self._statement = None, statement
        fence = self._table.fence(self._term, self.sequence, None)
        first = [_BEGIN, fence, *parts[0]]
        self._begun = _Begun(position, f"{self._term.epoch}.{self.sequence}", len(first) + 1)
        self._term.check()
        branches.send(self._begun.commit, self._target, joined(first), parts[1:])

    def finish(self) -> int:
        """Returns and raises what `commit` does."""
        branches, begun = self.branches, self._begun
        assert branches is not None and begun is not None, "it has begun"  # noqa: S101
        outcome, refused = branches.receive(self._target, begun.statements)
        if refused is not None and (refused.fenced or outcome.done == FENCE_STATEMENTS):
            raise self._fenced()
        if refused is not None:  # all of it is rolled back, and one connection repeats it
            self._execute(begun.position)
            return self.sequence
        self.sequence += 1
        self._decide(branches, begun)
        return self.sequence

    def note(self, statement: bytes) -> int:
        """A transaction that changes what the position row says of a statement; b"": nothing. Raises as `commit`."""
        fence = self._table.fence(self._term, self.sequence, None, statement)
        self._term.check()
        outcome = self._target.execute(b";".join((_BEGIN, fence, _COMMIT)), 2 + FENCE_STATEMENTS)
        if outcome.error is not None:
            raise self._failed(RowGroup(), outcome, outcome.error, of_rows=False)
        self.sequence += 1
        return self.sequence

    def _execute(self, position: Position | None) -> None:
        """Sends what was added, with the end of the transaction where there is a position."""
        self._settle()
        group, self._group = self._group, RowGroup()
        if self.resolver is None or not self.resolver.concerns(group.rows):
            self._send(group, position)
        elif self.resolver.reads_first(group.rows):
            self._resolve(group, position)
        else:
            self._send_or_resolve(group, position)

    def _decide(self, branches: Branches, begun: _Begun) -> None:
        """All rows are executed, and the branches prepared."""
        fence = self._table.fence(self._term, self.sequence, begun.position, self._statement)
        last = (fence, branches.decision(begun.commit), _COMMIT)
        try:
            self._term.check()
            outcome = self._target.execute(b";".join(last), 2 * FENCE_STATEMENTS + 1)
            if outcome.error is not None:
                raise self._failed(RowGroup(), outcome, outcome.error, of_rows=False)
        except ReplicatorError:
            branches.close()  # the next session ends them
            raise
        self.sequence += 1
        branches.commit()

    def _send(self, group: RowGroup, position: Position | None) -> None:
        outcome, of_rows = self._sent(group, position)
        if outcome.error is not None:
            raise self._failed(group, outcome, outcome.error, of_rows=of_rows)

    def _send_or_resolve(self, group: RowGroup, position: Position | None) -> None:
        """Rows are read only where the server has refused one."""
        was_open, sequence = self._open, self.sequence
        if was_open:
            self._run(_SAVEPOINT, 1)
        outcome, of_rows = self._sent(group, position, resolves=True)
        if outcome.error is None:
            return
        if not of_rows or not errors.is_conflict(outcome.error):
            raise self._failed(group, outcome, outcome.error, of_rows=of_rows)
        self._undo(was_open, sequence)
        self._resolve(group, position)

    def _undo(self, was_open: bool, sequence: int) -> None:
        """Back to where the group began: to the savepoint, or to the beginning. An earlier packet of the group may have
        succeeded."""
        undo = (_TO_SAVEPOINT if was_open else b"ROLLBACK", *self._target.restored)
        self._run(b";".join(undo), len(undo))
        self._open, self.sequence = was_open, sequence

    def _resolve(self, group: RowGroup, position: Position | None) -> None:
        """Behind the fence: an earlier term reads and locks nothing."""
        assert self.resolver is not None, "asked before"  # noqa: S101
        if not self._open:
            self._send(RowGroup(), None)
        self._term.check()
        try:
            rows = self.resolver.resolve(group.rows)
        except ReplicatorError as error:
            self._target.abandon()
            raise errors.of_transaction(error, self._target.session) from error
        groups = group.regrouped(rows, self._most)
        for each in groups[:-1]:
            self._send(each, None)
        self._send(groups[-1], position)

    def _sent(self, group: RowGroup, position: Position | None, *, resolves: bool = False) -> tuple[Outcome, bool]:
        """Returns whether the error, if any, is of the rows.

        LOAD DATA does not say what it has not taken, so that INSERT repeats it. `resolves`: unless rows are read next.
        """
        was_open, sequence, loads = self._open, self.sequence, self.loads
        packets = self._packets(group, position, loads)
        if loads is None or not any(loads_of(statement) for packet in packets for statement in packet):
            return self._executed(packets, position)
        if was_open and not resolves:  # else there is one
            self._run(_SAVEPOINT, 1)
        try:
            outcome, of_rows = self._executed(packets, position)
        except SinkUnavailable:
            loads.lost(self._target.session.where)
            raise
        error = outcome.error
        if error is None:
            loads.taken()
            return outcome, of_rows
        if not of_rows or not errors.is_of_row(error):
            return outcome, of_rows
        if resolves and errors.is_conflict(error):
            return outcome, of_rows
        self._undo(was_open, sequence)
        outcome, of_rows = self._executed(self._packets(group, position), position)
        if outcome.error is None:
            loads.refuse(group.tables, self._target.session.where, str(error.found))
        return outcome, of_rows

    def _executed(self, packets: list[list[Text]], position: Position | None) -> tuple[Outcome, bool]:
        """One packet, or as many as the statements take."""
        for packet in packets[:-1]:
            outcome, of_rows = self._packet(packet, None)
            if outcome.error is not None:
                return outcome, of_rows
        return self._packet(packets[-1], position)

    def _packets(self, group: RowGroup, position: Position | None, loads: Loads | None = None) -> list[list[Text]]:
        """The statements of the rows, by packet: at least one. The fence and the position have room in each."""
        statements = group.statements(loads) if group else []
        if not statements:
            return [[]]
        ends = len(self._table.fence(self._term, self.sequence, position)) + _ENDS
        if len(statements) == 1 and len(statements[0]) + ends <= self._target.largest:
            return [statements]
        packets: list[list[Text]] = [[]]
        size = ends
        for statement in statements:
            if len(statement) > self._target.largest:
                raise self._too_large_of(group)
            if packets[-1] and size + len(statement) > self._target.room:
                packets.append([])
                size = ends
            if ends + len(statement) > self._target.largest:  # in a packet of its own
                packets += [[statement], []]
                size = ends
                continue
            packets[-1].append(statement)
            size += len(statement) + 1
        return packets

    def _packet(self, rows: list[Text], position: Position | None) -> tuple[Outcome, bool]:
        parts: list[Text] = []
        fences = 0
        if not self._open:
            parts.append(_BEGIN)
        if not self._open or position is not None:
            statement = self._statement if position is not None else None
            parts.append(self._table.fence(self._term, self.sequence, position, statement))
            fences = FENCE_STATEMENTS
        before = len(parts) + (1 if fences else 0)
        parts += rows
        if position is not None:
            parts.append(_COMMIT)
        if not parts:  # changes that come to nothing
            return Outcome(0), False
        statements = len(parts) + (1 if fences else 0)
        self._term.check()
        outcome = self._target.execute(joined(parts), statements)
        if outcome.error is None:
            self.sequence += 1 if fences else 0
            self._open = True
        return outcome, before <= outcome.done < before + len(rows)

    def _run(self, statement: bytes, count: int) -> None:
        outcome = self._target.execute(statement, count)
        if outcome.error is not None:
            raise self._failed(RowGroup(), outcome, outcome.error, of_rows=False)

    def _failed(self, group: RowGroup, outcome: Outcome, error: ReplicatorError, *, of_rows: bool) -> ReplicatorError:
        """Rolled back before it is returned."""
        target = self._target
        target.rollback()
        if outcome.number == errors.NOT_ONE_ROW and not of_rows:
            return self._fenced()
        if of_rows and errors.is_of_row(error):
            return failed_row.find(target, group, error)
        return errors.of_transaction(error, target.session)

    def _fenced(self) -> SinkError:
        row = self._table.read(self._target.session)
        where = self._target.session.where
        if row is None:
            return SinkError(
                "E3412",
                f"the task's row in {self._table.name} at {where} was deleted",
                found="no row",
                wanted=f"the row of epoch {self._term.epoch}",
            )
        return SinkFenced(
            "E3410",
            f"another term has changed the task's row in {self._table.name} at {where}",
            found=f"epoch {row.epoch}, sequence {row.sequence}, by {row.host or 'an unknown host'}",
            wanted=f"epoch {self._term.epoch}, sequence {self.sequence}",
        )

    def _too_large_of(self, group: RowGroup) -> SinkError:
        """The row of the group whose statement is largest."""
        sizes = ((max(map(len, failed_row.single(rows))), rows) for rows in group.single_rows)
        text, rows = max(sizes, key=lambda found: found[0])
        return self._too_large(rows, size_of(rows), text)

    def _too_large(self, rows: Rows, size: int, text: int) -> SinkError:
        record = rows.records[rows.first]
        return SinkError(
            "E3426",
            f"a row of {rows.route.table} is too large for {self._target.session.where}",
            found=f"{size} bytes, {text} as a statement; row {record[4]} of its transaction",
            wanted=f"at most {self._target.largest} bytes: max_allowed_packet of the target",
            fix=f"Raise max_allowed_packet at the target to {_rounded(text)} or more.",
            position=record[3].decode("ascii", "replace"),
            table=rows.route.source,
        )


def _text_size(statements: Sequence[Text]) -> int:
    return sum(len(statement) + 1 for statement in statements)


def _rounded(size: int) -> int:
    """The next power of two."""
    return 1 << (size + 4096).bit_length()
