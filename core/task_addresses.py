"""The addresses of the book that one task uses on this Core, and the messages about them with its worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import msgspec

from core.protocol import AddressAccepted, AddressPassed, AddressRecorded, AddressRefused, ProposeAddress, ToWorker
from replicator.coordination.addresses.choice import AddressPlan, plans, proposed
from replicator.coordination.addresses.task_addresses import TaskAddress
from replicator.coordination.clock import now_ms
from replicator.coordination.records import AcceptedAddress, AddressFigures

Record = Callable[[str, AcceptedAddress], None]
"""Makes an accepted address of a section durable. Raises CoordinationError."""


class Refusal(msgspec.Struct, frozen=True):
    address: str
    since_ms: int
    error: dict[str, str]


class RunnerAddresses:
    """All but `figures` is called from the agent's loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: dict[str, AddressPlan] = {}
        self._known: tuple[TaskAddress, ...] = ()
        self._refused: dict[str, Refusal] = {}
        self._put_off: dict[str, str] = {}
        self._passed: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._unrecorded: dict[str, AddressAccepted] = {}

    def begin(self, addresses: Sequence[TaskAddress]) -> tuple[AddressPlan, ...]:
        """For a worker that starts. Raises ProcessError: there is no address to connect to."""
        with self._lock:
            self._see(addresses)
            passed, self._passed = self._passed, {}
            put_off = {key: address for key, address in self._put_off.items() if passed.get(key) != address}
            chosen = plans(addresses, put_off)
            self._plans = {one.section: one for one in chosen}
            self._told = {one.section: one.proposal for one in chosen}
            self._unrecorded = {}
            return chosen

    def end(self) -> None:
        """There is no worker any more."""
        with self._lock:
            self._plans, self._told, self._unrecorded = {}, {}, {}

    def _see(self, addresses: Sequence[TaskAddress]) -> None:
        self._known = tuple(addresses)
        wanted = {one.section: one.wanted for one in addresses}
        for section in [s for s, one in self._refused.items() if one.address != wanted.get(s)]:
            del self._refused[section]
            self._put_off.pop(section, None)

    def failed(self) -> None:
        """The worker has failed at the former address, and will not check the other one any more: the next one tries
        it, whatever was found before."""
        with self._lock:
            self._put_off = {}

    def follow(self, addresses: Sequence[TaskAddress], send: Callable[[ToWorker], None]) -> None:
        """Tells the worker which addresses to check. A worker on trial is left alone until that is over."""
        with self._lock:
            self._see(addresses)
            for one in addresses:
                chosen = self._plans.get(one.section)
                if chosen is None or chosen.name != one.name or (chosen.on_trial and not chosen.recorded):
                    continue
                proposal = proposed(chosen, one.wanted)
                if proposal != self._told.get(one.section, ""):
                    self._told[one.section] = proposal
                    send(ProposeAddress(one.section, proposal))

    def passed(self, message: AddressPassed) -> bool:
        """Whether the worker is to end, so that another one connects to the address."""
        with self._lock:
            if self._told.get(message.section) != message.address:
                return False  # the book has changed meanwhile
            self._passed[message.section] = message.address
            return True

    def refused(self, message: AddressRefused) -> bool:
        """Whether that is news: it was not refused before, or for another reason."""
        with self._lock:
            known = self._refused.get(message.section)
            same = known is not None and known.address == message.address
            since = known.since_ms if known is not None and same else now_ms()
            self._refused[message.section] = Refusal(message.address, since, message.error)
            self._put_off[message.section] = message.address
            return known is None or not same or known.error.get("found") != message.error.get("found")

    def accepted(self, message: AddressAccepted) -> None:
        """It is to be recorded: see `record`."""
        with self._lock:
            if message.section in self._plans:
                self._unrecorded[message.section] = message

    def record(self, write: Record, send: Callable[[ToWorker], None]) -> list[str]:
        """Records what is accepted; returns what is to be noted. Raises CoordinationError: what is left is tried again
        by the next call."""
        noted = []
        for section, message in list(self._unrecorded.items()):
            chosen = self._plans[section]
            write(section, AcceptedAddress(chosen.name, message.address, now_ms(), message.cluster))
            with self._lock:
                del self._unrecorded[section]
                self._refused.pop(section, None)
                self._put_off.pop(section, None)
                self._plans[section] = msgspec.structs.replace(chosen, recorded=True, cluster=message.cluster)
            send(AddressRecorded(section))
            if chosen.former:
                noted.append(f"{section}: {chosen.name} is {message.address}, was {chosen.former}")
        return noted

    @property
    def in_use(self) -> dict[str, str]:
        """By section, from any thread; without a worker those that the task has accepted, or else those of the book."""
        with self._lock:
            known = {one.section: one.accepted.address if one.accepted else one.wanted for one in self._known}
            found = {section: address for section, address in known.items() if address}
            return found | {section: one.address for section, one in self._plans.items()}

    def figures(self) -> list[AddressFigures]:
        """From any thread."""
        with self._lock:
            return [self._figure(one) for one in self._known]

    def _figure(self, one: TaskAddress) -> AddressFigures:
        chosen, refusal = self._plans.get(one.section), self._refused.get(one.section)
        figure = AddressFigures(
            section=one.section, name=one.name, wanted=one.wanted, in_use=chosen.address if chosen is not None else ""
        )
        if one.problem is not None:
            figure.error = one.problem
        elif refusal is not None and refusal.address == one.wanted:
            figure.error, figure.since_ms = refusal.error, refusal.since_ms
        return figure
