"""Publishes this machine and its tasks in one znode, once a second, and reserves the name of the Core."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import msgspec

from core.core_counters import CoreCounters
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.contender import Identity
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.machines import Machines
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.machines.this_machine import ThisMachine
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import MachineRecord, TaskFigures
from replicator.errors import CoordinationError, NodeExists, NotConnected
from replicator.telemetry import log
from replicator.telemetry.zookeeper_requests import REQUESTS

INTERVAL = 1.0
_PATIENCE = 1.5
"""Session timeouts for which the node of a process that may be dead is waited for."""
_SETTLE_SECONDS = 0.5
_LEARN_SECONDS = 60.0
"""Between looks whether this machine is still expected: it may be forgotten while it starts."""
_REST = 4
"""Times as long as a report took, no other one is written."""
_LOG = log.get_logger("core")


class MachineStatus:
    """Args:
    host: the name to go by; `identity.host` is what it became.
    figures: of every task, by name.

    Attributes:
    counters: of the whole Core; they are published too.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        host: str,
        process: str,
        clock: Callable[[], float],
        group: str = "",
    ) -> None:
        self._coordinator = coordinator
        self._machines = Machines(coordinator, layout)
        self._stopped_cores = StoppedCores(coordinator, layout)
        self._stopped_agents = StoppedCores(coordinator, layout, agents=True)
        self._expected = ExpectedMachines(coordinator, layout)
        self._learned_at = -_LEARN_SECONDS
        self._machine = ThisMachine()
        self._group = group
        self._clock = clock
        self.counters = CoreCounters()
        self._identity = Identity(host, os.getpid(), process)
        self._figures: Callable[[], dict[str, TaskFigures]] = dict
        self._stopped = False
        self._kick = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine-status", daemon=True)

    @property
    def identity(self) -> Identity:
        return self._identity

    def claim(self, stopped: Callable[[], bool]) -> Identity:
        """Takes our name, or `HOST~xxxx` when another living Core has it.

        A process that was killed keeps its name for up to a session timeout; only one that keeps it for longer lives.

        Raises NotConnected.
        """
        end = self._clock() + _PATIENCE * self._coordinator.session_timeout
        while not stopped():
            try:
                self._publish()
                break
            except NodeExists as error:
                if not self._freed(end, stopped) and not stopped():
                    self._rename(error)
                    end += 5.0
        return self._identity

    def _freed(self, end: float, stopped: Callable[[], bool]) -> bool:
        """Waits for the node of an earlier process of our name to go.

        A little longer then: the successors of that process see that its session has ended by what went with it, and
        must not find us in its place before they have looked.
        """
        while self._clock() < end and not stopped():
            if self._machines.read(self._identity.host) is None:
                time.sleep(_SETTLE_SECONDS)
                return True
            time.sleep(0.1)
        return False

    def _rename(self, error: NodeExists) -> None:
        """`~` and four digits of our own: both processes stay visible."""
        name = f"{self._identity.host}~{self._identity.process[:4]}"
        _LOG.error(f"continuing as {name}", code=error.code, error=error.what, found=error.found, fix=error.fix)
        self._identity = Identity(name, self._identity.pid, self._identity.process)

    def start(self, figures: Callable[[], dict[str, TaskFigures]]) -> None:
        self._figures = figures
        self._machine.start()
        self._thread.start()

    def poke(self) -> None:
        """A role changed: who watches should not wait for the second to pass."""
        self._kick.set()

    def stop(self) -> None:
        self._stopped = True
        self._machine.stop()
        self._kick.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def record_end(self) -> None:
        """The Core ends because it was asked to: others need not look for a failed host. After `stop`; never raises."""
        try:
            self._stopped_cores.record(self._identity.host, self._identity.process)
            for records in (self._stopped_cores, self._stopped_agents):
                records.remove_old()
        except CoordinationError as error:
            _LOG.warning("that this Core ends on purpose can't be recorded", code=error.code, error=error.what)

    def _forget_end(self) -> bool:
        """Of an earlier process of our name. Whether it is done."""
        try:
            self._stopped_cores.forget(self._identity.host)
        except NotConnected:
            return False
        except CoordinationError as error:
            _LOG.warning("the record of an earlier end can't be removed", code=error.code, error=error.what)
        return True

    def _run(self) -> None:
        while not self._stopped and not self._forget_end():
            self._kick.wait(INTERVAL)
        while not self._stopped:
            began = time.monotonic()
            self.publish()
            self._learn(began)
            # Hundreds of tasks that change their roles at once must not wait for a report of all for each of them.
            time.sleep(min(INTERVAL, _REST * (time.monotonic() - began)))
            self._kick.wait(INTERVAL)
            self._kick.clear()

    def _learn(self, now: float) -> None:
        """That this machine is to be there, from its first report on."""
        if now - self._learned_at < _LEARN_SECONDS:
            return
        try:
            self._expected.learn(self._identity.host)
        except NotConnected:
            return
        except CoordinationError as error:
            fix = "Run `replicator cluster secure` of this release."
            if self._learned_at < 0:
                _LOG.warning("this machine can't be recorded as expected", code=error.code, error=error.what, fix=fix)
        self._learned_at = now

    def publish(self) -> None:
        """Never raises: a machine that can't be shown goes on working."""
        try:
            self._publish()
        except NotConnected:
            return
        except NodeExists as error:
            self._rename(error)  # after a lost session somebody else took the name
        except CoordinationError as error:
            _LOG.warning("the machine status can't be written", code=error.code, error=error.what)

    def _publish(self) -> None:
        self._machines.publish(self._identity.host, self._record())

    def _record(self) -> MachineRecord:
        own = self._machine.record(self._identity.host, self._identity.process, self._coordinator.session_timeout)
        return msgspec.structs.replace(
            own,
            counts=self.counters.counts(),
            requests=REQUESTS.histogram(),
            tasks=self._figures(),
            group=self._group,
        )
