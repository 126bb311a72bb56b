"""Resumes inside a transaction: skips the rows that an earlier session delivered."""

from __future__ import annotations

from replicator.decode.binlog import unsupported_events
from replicator.model.position import Position


class Resumed:
    """The transaction that a stream begins inside of, until its undelivered part is reached.

    Under the same rule (`Inside.rule`) the number of rows says where that is, on every server of a group unless records
    follow the events of a log. Under another rule the number of row events does, where the transaction is at the same
    place of the same log. Else the place can't be found: the transaction is begun again, or refused.

    Args:
        position: inside the transaction.
        rule: of the present configuration.
        repeats: whether a transaction may be begun again, its rows delivered twice.
        follows_events: whether numbers depend on a server's events (`config/numbering.py`).
    """

    def __init__(self, position: Position, rule: str, *, repeats: bool, follows_events: bool = False) -> None:
        self.rows = position.rows
        self._position, self._rule, self._repeats = position, rule, repeats
        self._follows_events = follows_events
        self._begun = self._by_event = False
        self._event = 0

    @classmethod
    def at(cls, position: Position, rule: str, *, repeats: bool, follows_events: bool = False) -> Resumed | None:
        """None at a transaction boundary."""
        if position.boundary:
            return None
        return cls(position, rule, repeats=repeats, follows_events=follows_events)

    def begin(self, file: str, start: int) -> bool:
        """A transaction begins at `start`. False: all of it is to be delivered, again.

        Raises DecodeError E2313: it may not be, and the place inside it can't be found.
        """
        if self._begun:
            return True
        self._begun, inside = True, self._position.inside
        same_log = (file, start) == (self._position.file, self._position.offset)
        if self._rule == (inside.rule if inside is not None else "") and (same_log or not self._follows_events):
            return True
        if inside is not None and same_log:
            self._by_event, self._event = True, inside.event
            return True
        if self._repeats:
            return False
        raise unsupported_events.counted_otherwise(self._position, file, start)

    def covers(self, row: int, event: int) -> bool:
        """Whether the record with the number `row`, of row event `event`, is delivered already."""
        return event <= self._event if self._by_event else row < self.rows

    def over(self, row: int, event: int) -> bool:
        """Whether what comes behind `row` rows and `event` events is not delivered yet."""
        return event > self._event if self._by_event else row >= self.rows

    def check_end(self, row: int, event: int) -> None:
        """The transaction ends. Raises DecodeError E2302 when it has less than was delivered of it."""
        have, delivered, what = (event, self._event, "row events") if self._by_event else (row, self.rows, "rows")
        if have < delivered:
            raise unsupported_events.structure(
                f"the transaction at the position has fewer {what} than were delivered",
                f"{have} {what}, {delivered} delivered",
            )
