"""Reports the vitals of this host in one znode, once a second, until it is to stop."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Final

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.machines import Machines
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.machines.this_machine import ThisMachine
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import MachineRecord
from replicator.errors import CoordinationError, NodeExists, NotConnected
from replicator.telemetry.log import get_logger

INTERVAL: Final = 1.0
PATIENCE: Final = 1.5
"""Session timeouts for which the node of an earlier process of this host is waited for."""
_LEARN_SECONDS: Final = 60.0
_log = get_logger("agent")


class Reporter:
    """
    Args:
        role: what the host is for, such as "mysql".
        alive: is called at each turn, with monotonic seconds.

    Attributes:
        process: id of this process in the tree.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        host: str,
        role: str,
        alive: Callable[[float], None] = lambda now: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.process = uuid.uuid4().hex
        self._coordinator = coordinator
        self._host, self._role = host, role
        self._machines = Machines(coordinator, layout, agents=True)
        self._stopped = StoppedCores(coordinator, layout, agents=True)
        self._expected = ExpectedMachines(coordinator, layout)
        self._machine = ThisMachine()
        self._alive, self._clock = alive, clock
        self._stop = threading.Event()
        self._named = False
        self._end_forgotten = False
        self._learn_at = float("-inf")
        self._said = ""

    def stop(self) -> None:
        """From any thread, and from a signal handler."""
        self._stop.set()

    def run(self, up: Callable[[], None] = lambda: None) -> None:
        """Until `stop`. `up` is called after the first report.

        Raises NodeExists E5002 when another living agent has the name.
        """
        self._machine.start()
        patient_until = self._clock() + PATIENCE * self._coordinator.session_timeout
        while not self._stop.is_set():
            self._alive(self._clock())
            was_named = self._named
            try:
                self._turn()
            except NotConnected:
                # The name may only be free when the session of its holder, which waits as we do, has ended.
                patient_until = self._clock() + PATIENCE * self._coordinator.session_timeout
            except NodeExists as error:
                if not self._named and self._clock() >= patient_until:
                    raise
                self._say("the name of this agent is in use", error)
            except CoordinationError as error:
                self._say("the vitals of this host can't be reported", error)
            if self._named and not was_named:
                up()
            self._stop.wait(INTERVAL)
        self._machine.stop()

    def record_end(self) -> None:
        """This agent ends because it was asked to: its host has not failed. After `run`; never raises."""
        if not self._named:
            return
        try:
            self._stopped.record(self._host, self.process)
        except CoordinationError as error:
            _log.warning("that this agent ends on purpose can't be recorded", code=error.code, error=error.what)

    def _turn(self) -> None:
        self._machines.publish(self._host, self._record())
        self._named = True
        self._said = ""
        if not self._end_forgotten:
            self._stopped.forget(self._host)
            self._end_forgotten = True
        if self._clock() >= self._learn_at:
            self._expected.learn(self._host)
            self._learn_at = self._clock() + _LEARN_SECONDS

    def _say(self, what: str, error: CoordinationError) -> None:
        """Once, until a report succeeds."""
        if self._said != error.code:
            self._said = error.code
            _log.error(what, code=error.code, error=error.what, found=error.found, fix=error.fix)

    def _record(self) -> MachineRecord:
        own = self._machine.record(self._host, self.process, self._coordinator.session_timeout)
        return msgspec.structs.replace(own, role=self._role)
