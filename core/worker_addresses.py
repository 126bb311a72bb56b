"""Checks addresses of the book in a worker: before it connects to one, and new ones while it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from core.protocol import AboutAddress, AddressAccepted, AddressPassed, AddressRefused
from replicator.assembly.address_checks import Checked, check_address
from replicator.coordination.addresses.choice import AddressPlan
from replicator.errors import LeadershipLost, ReplicatorError, SourceError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Begin, Position
from replicator.model.source_end import SourceEnd
from replicator.model.term import Term
from replicator.pipeline.ports import Source, Stream

_FIRST_SECONDS: Final = 5.0
_LONGEST_SECONDS: Final = 30.0
_RECORDED_SECONDS: Final = 30.0
_LONGEST_TEXT: Final = 1000
T = TypeVar("T")


class AddressRejected(ReplicatorError):
    """An address on trial has not passed: the worker ends, and another one returns to the former address."""

    def __init__(self, section: str, address: str, error: ReplicatorError) -> None:
        super().__init__("E4105", f"the {section} stays where it is", found=f"{error.code} {error.what}")
        self.message = AddressRefused(section, address, refusal(section, address, error), ended=True)


def refusal(section: str, address: str, error: ReplicatorError) -> dict[str, str]:
    """`error`, by which the checks have refused the address, as people see it."""
    found = shortened(f"{error.code} {error.what}" + (f" ({error.found})" if error.found else ""))
    told = ReplicatorError(
        "E4105", f"the {section} is not connected to {address}", found=found, wanted=shortened(error.wanted)
    )
    return told.to_dict()


def shortened(text: str) -> str:
    """It is part of the machine's node: a GTID set may have very many intervals."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}... ({len(text)} characters)"


class WorkerAddresses:
    """Args:
    config: of the task, with the addresses of `plans` in place.
    position: what is known to be delivered, now.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        plans: Sequence[AddressPlan],
        term: Term,
        send: Callable[[AboutAddress], None],
        position: Callable[[], Checkpoint | None],
    ) -> None:
        self._config = config
        self._plans = {plan.section: plan for plan in plans}
        self._term = term
        self._send = send
        self._position = position
        self._changed = threading.Condition()
        self._recorded: set[str] = set()
        self._proposals = {plan.section: plan.proposal for plan in plans}
        self._passed: set[str] = set()
        # One that was refused just now is not checked again at once: each time it passes costs a restart.
        self._waits = dict.fromkeys(self._proposals, _FIRST_SECONDS)
        self._due = dict.fromkeys(self._proposals, time.monotonic() + _FIRST_SECONDS)

    # From the thread that listens to the agent

    def propose(self, section: str, address: str) -> None:
        with self._changed:
            self._proposals[section], self._due[section] = address, 0.0
            self._waits[section] = _FIRST_SECONDS
            self._passed.discard(section)
            self._changed.notify_all()

    def recorded(self, section: str) -> None:
        with self._changed:
            self._recorded.add(section)
            self._changed.notify_all()

    # Before the pipeline is built

    def check_sink(self) -> None:
        """Raises AddressRejected; transient errors where there is no former address to return to."""
        plan = self._plans.get("sink")
        if plan is None or plan.recorded or plan.section in self._recorded:
            return
        try:
            checked = self._check(plan.section, plan.address, plan.cluster, first=not plan.on_trial)
        except LeadershipLost:
            raise
        except ReplicatorError as error:
            raise self.rejected(plan, error) from error
        self.accept(plan, checked.cluster)

    def source(self, source: Source) -> Source:
        """`source`, whose first stream decides about the address; itself where nothing is to be decided."""
        plan = self._plans.get("source")
        return source if plan is None or plan.recorded else TrialSource(source, self, plan)

    def rejected(self, plan: AddressPlan, error: ReplicatorError) -> ReplicatorError:
        """What to raise: without a former address the error is one like that of any server."""
        return AddressRejected(plan.section, plan.address, error) if plan.on_trial else error

    def accept(self, plan: AddressPlan, cluster: str) -> None:
        """Returns when it is durable. Raises LeadershipLost."""
        self._term.check()
        self._send(AddressAccepted(plan.section, plan.address, cluster))
        with self._changed:
            if not self._changed.wait_for(lambda: plan.section in self._recorded, _RECORDED_SECONDS):
                raise LeadershipLost("E4008", "the address could not be recorded in time")

    def _check(self, section: str, address: str, cluster: str, *, first: bool = False) -> Checked:
        return check_address(self._config, section, address, self._term, self._position(), cluster, first=first)

    # Beside the work

    def watch(self) -> None:
        """Runs in a thread of its own for as long as the process."""
        while True:
            self.round(self._wait())

    def _wait(self) -> list[str]:
        """The sections that are to be checked now."""
        with self._changed:
            self._changed.wait(1.0)
            now = time.monotonic()
            return [section for section, address in self._proposals.items() if address and self._is_due(section, now)]

    def _is_due(self, section: str, now: float) -> bool:
        return section not in self._passed and self._due[section] <= now

    def round(self, sections: Sequence[str]) -> None:
        """Checks each once. A refused one is checked again later: what it lacks may come."""
        for section in sections:
            with self._changed:
                address = self._proposals[section]
            try:
                self._check(section, address, self._plans[section].cluster)
            except ReplicatorError as error:
                self._refuse(section, address, error)
                continue
            with self._changed:
                if self._proposals[section] != address:
                    continue  # changed meanwhile
                self._passed.add(section)
            self._send(AddressPassed(section, address))

    def _refuse(self, section: str, address: str, error: ReplicatorError) -> None:
        with self._changed:
            if self._proposals[section] != address:
                return
            self._due[section] = time.monotonic() + self._waits[section]
            self._waits[section] = min(2 * self._waits[section], _LONGEST_SECONDS)
        self._send(AddressRefused(section, address, refusal(section, address, error)))


class TrialSource:
    """Implements `ports.Source`: until the first stream is open, an error refuses the address."""

    def __init__(self, source: Source, addresses: WorkerAddresses, plan: AddressPlan) -> None:
        self._source = source
        self._addresses = addresses
        self._plan = plan
        self._accepted = False

    def open(self, position: Position) -> Stream:
        if self._accepted:
            return self._source.open(position)
        stream = self._tried(lambda: self._source.open(position))
        try:
            self._addresses.accept(self._plan, "")
        except BaseException:
            stream.close()
            raise
        self._accepted = True
        return stream

    def start_position(self, begin: Begin | None = None) -> Position:
        return self._tried(lambda: self._source.start_position(begin))

    def end_position(self) -> Position:
        return self._tried(self._source.end_position)

    def _tried(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except SourceError as error:
            if self._accepted:
                raise
            raise self._addresses.rejected(self._plan, error) from error

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        return self._source.observe(delivered)

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        return self._source.retention_headroom(position, behind_s, speed)
