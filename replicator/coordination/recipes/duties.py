"""Duties that are done once a day, by one process: mastership for a date.

Whoever has the lock of a duty and a date does it, and notes that it is done in a transaction with its claim. A process
that ends before leaves no note, and another one does the duty again. A duty must therefore be safe to repeat.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Check, Coordinator, Create
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.claims import claims
from replicator.coordination.recipes.hold import Hold
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.recipes.records import DutyRecord
from replicator.coordination.records import dump
from replicator.errors import CoordinationError, NodeExists, NodeMissing
from replicator.model import lease_clock

Proceed: TypeAlias = Callable[[], bool]
"""Asked by a duty between its steps: confirms the lock. False: stop, another process may do it."""
Duty: TypeAlias = Callable[[Proceed], None]
KEPT_DATES: Final = 7
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


def today() -> str:
    """In UTC, by the own clock. Where clocks of hosts differ, a duty is done at their different midnights, and once."""
    return time.strftime("%Y-%m-%d", time.gmtime())


class Duties:
    """
    Args:
        duties: by their names, which are letters and `-`.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        owner: Owner,
        duties: Mapping[str, Duty],
        date: Callable[[], str] = today,
    ) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._owner = owner
        self._locks = Locks(coordinator, layout, owner)
        self._duties = duties
        self._date = date
        self._clock = lease_clock.now
        self._known: dict[str, str] = {}

    def run(self) -> list[str]:
        """Does what is due, and returns its names. Called every second or so: without cost when all is done. Raises
        NotConnected, and what a duty raises; it is then done again."""
        date, done = self._date(), []
        for name, duty in self._duties.items():
            if self._known.get(name, "") < date and self._run(date, name, duty):
                done.append(name)
        if done:
            self._trim(date)
        self._locks.keep()  # removes what could not be released
        return done

    def _run(self, date: str, name: str, duty: Duty) -> bool:
        base, note = self._layout.duty(date, name), self._layout.duty_done(date, name)
        if self._coordinator.exists(note) is not None:
            self._known[name] = date
            return False
        if claims(self._children(base)):
            return False  # another process does it
        try:
            hold = self._locks.acquire_at(base, f"the duty '{name}' of {date}", "exclusive", 0)
        except CoordinationError as error:
            if error.code != "E4070":
                raise
            return False
        try:
            if self._coordinator.exists(note) is not None:
                return False  # done between the two requests
            duty(lambda: self._confirmed(hold))
            if not hold.valid():
                return False
            record = DutyRecord(by=self._owner.by, host=self._owner.host, time_ms=now_ms())
            self._coordinator.multi([Check(hold.paths[0]), Create(note, dump(record))])
        except NodeMissing:
            return False  # the claim is gone
        finally:
            self._locks.release(hold)
        self._known[name] = date
        return True

    def _confirmed(self, hold: Hold) -> bool:
        if hold.lease.deadline - self._clock() < self._coordinator.session_timeout / 2:
            self._locks.keep()
        return hold.valid()

    def _trim(self, date: str) -> None:
        """Notes of earlier dates but the last ones."""
        dates = [child for child in self._children(self._layout.duties) if _DATE.fullmatch(child) and child < date]
        for old in dates[: -KEPT_DATES + 1]:
            for name in self._children(f"{self._layout.duties}/{old}"):
                self._delete(self._layout.duty_done(old, name))
                self._delete(self._layout.duty(old, name))
            self._delete(f"{self._layout.duties}/{old}")

    def _delete(self, path: str) -> None:
        try:
            self._coordinator.delete(path)
        except (NodeMissing, NodeExists):
            return

    def _children(self, path: str) -> list[str]:
        try:
            return self._coordinator.children(path)
        except NodeMissing:
            return []


def remove_unused(coordinator: Coordinator, layout: Layout, proceed: Proceed) -> None:
    """A duty: removes the empty nodes of locks, barriers and queues whose last process has ended without removing
    them. What is used at that moment has children, and what is used later is created again."""
    for parent in (layout.locks, layout.barriers, layout.queues):
        try:
            children = coordinator.children(parent)
        except NodeMissing:
            continue
        for child in children:
            if not proceed():
                return
            path = f"{parent}/{child}"
            try:
                if parent == layout.queues:
                    _delete_if_empty(coordinator, layout.queue_line(unescape(child)))
                _delete_if_empty(coordinator, path)
            except (NodeMissing, NodeExists):
                continue


def _delete_if_empty(coordinator: Coordinator, path: str) -> None:
    stat = coordinator.exists(path)
    if stat is not None and not stat.children:
        coordinator.delete(path)
