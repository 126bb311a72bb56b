"""Barriers: parties wait until as many have come as each of them names, and then all pass together.

The one that sees the barrier complete marks all parties of the round in one transaction, so that either all of them
pass or none. A double barrier also waits until all of them have left.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from replicator.coordination.layout import PARTY, Layout
from replicator.coordination.ports import Coordinator, Node, Set
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.names import checked
from replicator.coordination.recipes.records import PartyRecord
from replicator.coordination.records import dump, load
from replicator.coordination.watches import Watches
from replicator.errors import CoordinationError, NodeMissing, NotConnected, VersionConflict

MAX_PARTIES: Final = 100
"""All of them are in one transaction, and each has the GUIDs of all."""
_RETRY: Final = 0.1
_READ_AGAIN: Final = 1.0


class Party(msgspec.Struct, frozen=True):
    """A party at a barrier, as it was read. `sequence`: its place."""

    name: str
    guid: str
    sequence: int
    record: PartyRecord
    version: int


def round_of(parties: Sequence[Party], wanted: int) -> Sequence[Party]:
    """Who passes together: the first ones of those that wait, or () while there are too few. Pure."""
    waiting = [party for party in sorted(parties, key=lambda one: one.sequence) if not party.record.round]
    return waiting[:wanted] if len(waiting) >= wanted else ()


class Barrier:
    """One party at one barrier; for one thread.

    Args:
        parties: how many pass together; the same for all.
    """

    def __init__(self, coordinator: Coordinator, layout: Layout, name: str, parties: int, owner: Owner) -> None:
        if not 1 <= parties <= MAX_PARTIES:
            raise ValueError(f"1 to {MAX_PARTIES} parties")
        self._coordinator = coordinator
        self._layout = layout
        self._name = checked(name, "barrier")
        self._base = layout.barrier(self._name)
        self._wanted = parties
        self._owner = owner
        self._guid = ""
        self._session = 0
        self._present = 0
        self._round: tuple[str, ...] = ()
        self._wake = threading.Event()
        self._watches = Watches(self._wake.set)

    def enter(self, wait: float | None = None, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Returns when all parties are there.

        Raises:
            CoordinationError: E4074 too few in time, E4073 another party waits for another number.
            NotConnected: there is no connection at the end of the wait.
        """
        try:
            self._until(self._passed, wait, cancelled)
        except CoordinationError as error:
            if error.code != "E4074" or not self._passed_meanwhile():
                self.withdraw()
                raise
        except BaseException:
            self.withdraw()
            raise

    def _passed_meanwhile(self) -> bool:
        """Gives up only while the others have not counted this party, whose node then has its first version."""
        own = next((party for party in self._read() if party.guid == self._guid), None)
        if own is None:
            return False
        try:
            self._coordinator.delete(f"{self._base}/{own.name}", 0)
        except VersionConflict:
            return self._passed()
        return False

    def leave(self, wait: float | None = None, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Returns when all parties of the round have left, or are gone with their sessions. Raises as `enter`."""
        try:
            self._until(self._all_left, wait, cancelled)
        finally:
            self.withdraw()

    def is_present(self) -> bool:
        """Whether the others still count this party, which has passed. Raises NotConnected."""
        return self._session == self._coordinator.session_id and any(party.guid == self._guid for party in self._read())

    def withdraw(self) -> None:
        """Removes the own node, and the barrier's with the last one. Raises nothing: it goes with the session."""
        try:
            for party in self._read():
                if party.guid == self._guid:
                    self._coordinator.delete(f"{self._base}/{party.name}")
            self._coordinator.delete(self._base)
        except CoordinationError:
            return

    def _until(self, step: Callable[[], bool], wait: float | None, cancelled: Callable[[], bool]) -> None:
        until = None if wait is None else time.monotonic() + wait
        outage: NotConnected | None = None
        while True:
            self._wake.clear()
            try:
                if step():
                    return
                outage, pause = None, min(_READ_AGAIN, self._coordinator.session_timeout / 3)
            except NotConnected as error:
                outage, pause = error, _RETRY
            left = pause if until is None else until - time.monotonic()
            if left <= 0 or cancelled():
                raise outage or self._too_few()
            self._wake.wait(min(pause, left))

    # Entering

    def _passed(self) -> bool:
        if self._session != self._coordinator.session_id:
            self.withdraw()
            self._guid, self._session = uuid.uuid4().hex, self._coordinator.session_id
            self._watches.clear()
        own = self._own_watched()
        if own is None:
            self._arrive()
            own = self._own_watched()
        if own is not None and not own.record.round and self._present >= self._wanted:
            self._complete()
            own = self._own_watched()
        if own is None or not own.record.round:
            return False
        self._round = own.record.round
        return True

    def _own_watched(self) -> Party | None:
        """One watch per party, on its own node: the end of a round wakes each party once."""
        try:
            names = self._coordinator.children(self._base)
        except NodeMissing:
            return None
        self._present = len(names)
        for name in names:
            if name.startswith(f"{PARTY}{self._guid}-"):
                path = f"{self._base}/{name}"
                try:
                    with self._watches.on("data", path) as watch:
                        node = self._coordinator.get(path, watch)
                except NodeMissing:
                    return None
                return _party(name, node)
        return None

    def _arrive(self) -> None:
        for party in self._read():
            if not party.record.round and party.record.parties != self._wanted:
                raise CoordinationError(
                    "E4073",
                    f"other parties of the barrier '{self._name}' wait for another number",
                    found=f"{party.record.parties} of {party.record.by} on {party.record.host}",
                    wanted=str(self._wanted),
                )
        claim = self._owner.record(self._coordinator.session_timeout)
        record = PartyRecord(**msgspec.structs.asdict(claim), parties=self._wanted)
        prefix = self._layout.party_prefix(self._name, self._guid)
        try:
            self._coordinator.create(prefix, dump(record), ephemeral=True, sequential=True, parents=True)
        except NodeMissing:
            return  # the last party of the round before has just removed the barrier's node

    def _complete(self) -> None:
        """Lets the next round pass, when it is complete. Each party does so, so that none has to wait for one that has
        ended in between."""
        chosen = round_of([each for each in self._read() if each.record.parties == self._wanted], self._wanted)
        if not chosen:
            return
        guids = tuple(party.guid for party in chosen)
        ops = [
            Set(f"{self._base}/{party.name}", dump(msgspec.structs.replace(party.record, round=guids)), party.version)
            for party in chosen
        ]
        try:
            self._coordinator.multi(ops)
        except (VersionConflict, NodeMissing):
            self._wake.set()  # another party was faster, or one has ended: again

    # Leaving

    def _all_left(self) -> bool:
        if self._session != self._coordinator.session_id:
            return True  # the own node has gone with the session: for the others it has left
        parties = {party.guid: party for party in self._read()}
        own = parties.get(self._guid)
        if own is not None and not own.record.left:
            left = msgspec.structs.replace(own.record, left=True)
            self._coordinator.set(f"{self._base}/{own.name}", dump(left), own.version)
        at = self._round.index(self._guid)
        for guid in self._round[at + 1 :] + self._round[:at]:
            found = parties.get(guid)
            if found is None or found.record.left:
                continue
            # Each party watches the next one that is still there, and all of them different ones.
            try:
                with self._watches.on("data", f"{self._base}/{found.name}") as watch:
                    node = self._coordinator.get(f"{self._base}/{found.name}", watch)
            except NodeMissing:
                continue
            now = _party(found.name, node)
            if now is not None and not now.record.left:
                return False
        return True

    def _read(self) -> list[Party]:
        try:
            names = self._coordinator.children(self._base)
        except NodeMissing:
            return []
        nodes = self._coordinator.get_many([f"{self._base}/{name}" for name in names])
        found = [_party(name, node) for name, node in zip(names, nodes, strict=True) if node is not None]
        return [party for party in found if party is not None]

    def _too_few(self) -> CoordinationError:
        try:
            found = [party for party in self._read() if not party.record.round]
        except CoordinationError:
            found = []
        names = ", ".join(f"{party.record.by} on {party.record.host}" for party in found[:5])
        return CoordinationError(
            "E4074",
            f"the barrier '{self._name}' was not complete in time",
            found=f"{len(found)} of {self._wanted}: {names}",
        )


def _party(name: str, node: Node) -> Party | None:
    """None for a node that no party has made, or that would never go away."""
    guid, dash, sequence = name.removeprefix(PARTY).partition("-")
    if not name.startswith(PARTY) or not dash or not sequence.isdigit() or node.stat.owner == 0:
        return None
    try:
        record = load(PartyRecord, node.data)
    except CoordinationError:
        return None
    return Party(name, guid, int(sequence), record, node.stat.version)
