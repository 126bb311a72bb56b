"""FIFO queues: an item is removed when its consumer is done, and comes back when the consumer ends before.

An item is a persistent znode. A consumer takes it in one transaction: its version is raised, and an ephemeral node says
that it is taken. It is completed with the version that this consumer knows, so that one whose session had ended cannot
complete an item that another one has taken since.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable
from typing import Final

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import ITEM, TAKEN, Layout
from replicator.coordination.leadership.lease import Lease
from replicator.coordination.ports import Check, Coordinator, Create, Delete, Set
from replicator.coordination.recipes import fencing
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.hold import Hold, end_with_session, lost
from replicator.coordination.recipes.locks import Locks, confirm
from replicator.coordination.recipes.names import checked
from replicator.coordination.recipes.records import ItemRecord
from replicator.coordination.records import dump, load
from replicator.coordination.watches import Watches
from replicator.errors import CoordinationError, NodeExists, NodeMissing, NotConnected, ProcessError, VersionConflict
from replicator.model import lease_clock

MAX_ITEMS: Final = 10_000
"""Names of 15 bytes: a listing stays far below the 1 MB of an answer."""
MAX_VALUE: Final = 64 * 1024
_RETRY: Final = 0.1
_READ_AGAIN: Final = 1.0


class Item(msgspec.Struct, frozen=True):
    """An item that was taken. `attempt`: 1 for its first consumer; `hold`: valid while no other consumer gets it."""

    number: str
    record: ItemRecord
    attempt: int
    hold: Hold


def next_numbers(names: list[str]) -> list[str]:
    """Numbers of the items that no consumer has, oldest first. Pure."""
    taken = {name.removeprefix(TAKEN) for name in names if name.startswith(TAKEN)}
    items = (name.removeprefix(ITEM) for name in names if name.startswith(ITEM))
    return sorted(number for number in items if number.isdigit() and number not in taken)


def _check_value(value: str) -> None:
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ProcessError("E5141", "the item is not text", found=repr(value[:60]), wanted="UTF-8") from None
    if size > MAX_VALUE:
        raise ProcessError("E5141", "the item is too large", found=f"{size} bytes", wanted=f"at most {MAX_VALUE}")


class Queue:
    """For one owner over one session. Of several consumers that wait, only the first one watches the queue: the others
    are in its line, which is a lock."""

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        name: str,
        owner: Owner,
        *,
        clock: Callable[[], float] = lease_clock.now,
        wall: Callable[[], float] = lease_clock.wall,
    ) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._name = checked(name, "queue")
        self._base = layout.queue(self._name)
        self._owner = owner
        self._clock = clock
        self._wall = wall
        self._locks = Locks(coordinator, layout, owner, clock=clock, wall=wall)
        self._wake = threading.Event()
        self._watches = Watches(self._wake.set)
        self._lock = threading.Lock()
        self._taken: list[Item] = []
        self._doubtful: set[str] = set()
        end_with_session(coordinator, self._holds)

    def _holds(self) -> list[Hold]:
        with self._lock:
            return [item.hold for item in self._taken]

    def put(self, value: str, by: str = "", id_: str = "") -> str:
        """Returns the item's number.

        Args:
            id_: of the item; a new one.

        Raises:
            CoordinationError: E4075, the queue is full. The limit is checked before the write: producers that write at
                the same moment may exceed it by their number.
            ProcessError: E5141, the value is too large.
            NotConnected: the outcome is unknown.
        """
        _check_value(value)
        record = ItemRecord(id=id_ or uuid.uuid4().hex, value=value, by=by or self._owner.by, time_ms=now_ms())
        self._refuse_full()
        prefix = self._layout.item_prefix(self._name)
        while True:
            try:
                path = self._coordinator.create(prefix, dump(record), sequential=True, parents=True)
            except NodeMissing:
                continue  # the last consumer has just removed the empty queue
            return path.rpartition(ITEM)[2]

    def _refuse_full(self) -> None:
        stat = self._coordinator.exists(self._base)
        if stat is None or stat.children < MAX_ITEMS:
            return
        count = sum(name.startswith(ITEM) for name in self._coordinator.children(self._base))
        if count >= MAX_ITEMS:
            raise CoordinationError(
                "E4075", f"the queue '{self._name}' is full", found=f"{count} items", wanted=f"fewer than {MAX_ITEMS}"
            )

    def take(self, wait: float | None = None, cancelled: Callable[[], bool] = lambda: False) -> Item:
        """The oldest item that no consumer has; it has to be completed or given back.

        Raises:
            CoordinationError: E4076, no item in time.
            NotConnected: there is no connection at the end of the wait.
        """
        until = None if wait is None else self._clock() + wait
        try:
            item = self._take_one()
        except NotConnected:
            item = None
        return item or self._in_line(until, cancelled)

    def _in_line(self, until: float | None, cancelled: Callable[[], bool]) -> Item:
        left = None if until is None else max(0.0, until - self._clock())
        base, what = self._layout.queue_line(self._name), f"the line of the queue '{self._name}'"
        try:
            place = self._locks.acquire_at(base, what, "exclusive", left, cancelled)
        except CoordinationError as error:
            if error.code != "E4070":
                raise
            raise self._empty() from error
        try:
            return self._wait(until, cancelled)
        finally:
            self._locks.release(place)
            self._remove_empty()

    def _wait(self, until: float | None, cancelled: Callable[[], bool]) -> Item:
        """The place in the line needs no lease: two at its front would only both watch."""
        outage: NotConnected | None = None
        while True:
            self._wake.clear()
            try:
                item = self._take_one(watched=True)
                if item is not None:
                    return item
                outage, pause = None, min(_READ_AGAIN, self._coordinator.session_timeout / 3)
            except NotConnected as error:
                outage, pause = error, _RETRY
                self._watches.clear()
            left = pause if until is None else until - self._clock()
            if left <= 0 or cancelled():
                raise outage or self._empty()
            self._wake.wait(min(pause, left))

    def _empty(self) -> CoordinationError:
        return CoordinationError("E4076", f"the queue '{self._name}' had no item in time")

    def _take_one(self, *, watched: bool = False) -> Item | None:
        names = self._names(watched=watched)
        self._remove_doubtful(names)
        for number in next_numbers(names):
            item = self._take(number)
            if item is not None:
                with self._lock:
                    self._taken.append(item)
                return item
        return None

    def _names(self, *, watched: bool) -> list[str]:
        try:
            if not watched:
                return self._coordinator.children(self._base)
            with self._watches.on("children", self._base) as watch:
                return self._coordinator.children(self._base, watch)
        except NodeMissing:
            return []

    def _take(self, number: str) -> Item | None:
        """None: another consumer was faster, or a node that is not an item."""
        path, taken = f"{self._base}/{ITEM}{number}", self._layout.taken(self._name, number)
        claim = dump(self._owner.record(self._coordinator.session_timeout))
        try:
            node = self._coordinator.get(path)
            record = load(ItemRecord, node.data, path)
            above = fencing.base(self._coordinator, self._layout)
            session = self._coordinator.session_id
            self._coordinator.multi([Set(path, node.data, node.stat.version), Create(taken, claim, ephemeral=True)])
        except (NodeMissing, NodeExists, VersionConflict):
            return None
        except NotConnected:
            self._doubtful.add(number)
            raise
        except CoordinationError as error:
            if error.code in ("E4009", "E4010"):
                return None
            raise
        sent, wall = self._clock(), self._wall()
        try:
            stats = self._coordinator.confirm([taken])
        except NotConnected:
            self._doubtful.add(number)
            raise
        czxid = stats[0].czxid if stats[0] is not None else 0
        lease = Lease(taken, czxid, session)
        hold = Hold(f"the item {number}", "exclusive", self._base, number, above + czxid, lease)
        if not hold.confirm(stats, sent, self._coordinator.session_timeout, wall):
            self._doubtful.add(number)
            return None
        return Item(number, record, node.stat.version + 1, hold)

    def complete(self, item: Item) -> None:
        """Removes it. Raises CoordinationError E4071 when it was lost: another consumer has it, or gets it."""
        self._forget(item)
        path = f"{self._base}/{ITEM}{item.number}"
        try:
            self._coordinator.multi([Delete(path, item.attempt), Delete(item.hold.lease.path)])
        except (NodeMissing, VersionConflict) as error:
            raise lost(f"the item {item.number} of the queue '{self._name}'") from error
        self._remove_empty()

    def give_back(self, item: Item) -> None:
        """It is the next one again. Raises NotConnected; it then comes back with the end of the session."""
        self._forget(item)
        path = f"{self._base}/{ITEM}{item.number}"
        try:
            self._coordinator.multi([Check(path, item.attempt), Delete(item.hold.lease.path)])
        except (NodeMissing, VersionConflict):
            return  # it was lost before

    def keep(self) -> None:
        """Confirms the items and the place in the line, every T/6."""
        with self._lock:
            holds = [item.hold for item in self._taken]
        confirm(self._coordinator, holds, self._clock, self._wall)
        self._locks.keep()

    def _forget(self, item: Item) -> None:
        item.hold.lease.end()
        with self._lock:
            self._taken = [each for each in self._taken if each is not item]

    def _remove_doubtful(self, names: list[str]) -> None:
        """Of a request whose answer was lost: the item is taken by this session, and this consumer does not have it."""
        with self._lock:
            known = {item.number for item in self._taken}
        for number in sorted(self._doubtful - known):
            if TAKEN + number not in names:
                continue
            path = self._layout.taken(self._name, number)
            stat = self._coordinator.exists(path)
            if stat is not None and stat.owner == self._coordinator.session_id:
                with contextlib.suppress(NodeMissing):
                    self._coordinator.delete(path)
                names.remove(TAKEN + number)

    def _remove_empty(self) -> None:
        """Best effort: a queue that is used again is created again."""
        try:
            if not self._coordinator.children(self._base):
                self._coordinator.delete(self._base)
        except CoordinationError:
            return
