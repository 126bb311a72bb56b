"""Sends messages of alerts. Exactly one Monitor sends those of the installation; each sends those of itself.

A message is sent, and then noted in ZooKeeper together with a check of the lock. A Monitor that is killed between the
two leaves a message that its successor sends once more, under the same key; none is lost.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from monitor.alerts.election import Election
from monitor.alerts.route_state import RouteStates
from monitor.alerts.routes_of_file import RoutesOfFile
from monitor.alerts.sent_store import SentStore
from monitor.alerts.service import Alerts
from monitor.alerts.shown import SenderView
from replicator.alerts.delivery import deliver
from replicator.alerts.evaluation import Active
from replicator.alerts.grouping import Due, Groups, Sent, plan, sent_of
from replicator.alerts.messages import Message
from replicator.alerts.route import Route
from replicator.alerts.trial import trial
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.outgoing import OutgoingList
from replicator.coordination.ports import Connection, Coordinator
from replicator.coordination.recipes.keeper import CHECKS_PER_TIMEOUT
from replicator.errors import CoordinationError, NodeMissing, NotConnected, ProcessError
from replicator.net.connections import set_cluster_list
from replicator.telemetry.log import get_logger

log = get_logger("monitor")

_SECONDS: Final = 0.5
_LOOK_SECONDS: Final = 5.0
"""Between looks at the list of outgoing addresses, and at who sends."""
_AWAY_MS: Final = 10_000
"""For how long ZooKeeper may be away before that counts as a reason that messages are not sent."""


class Sender:
    """Threads between `start` and `stop`, where there are routes.

    Args:
        alerts: what fires.
        address: of this Monitor, for messages; "" while it is not known.
        send: raises ProcessError E5183.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        routes: RoutesOfFile,
        alerts: Callable[[], Alerts],
        address: Callable[[], str] = lambda: "",
        send: Callable[[Route, Message], None] = deliver,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._coordinator = coordinator
        self._root = layout.root
        self._routes = routes
        self._alerts = alerts
        self._address = address
        self._send = send
        self._clock = clock
        self._host = socket.gethostname()
        self._election = Election(coordinator, layout, self._host)
        self._store = SentStore(coordinator, layout, self._host)
        self._outgoing = OutgoingList(coordinator, layout)
        self._states = RouteStates()
        self._groups: Groups = {}
        self._own: Groups = {}
        self._sender_host = ""
        self._looked = 0.0
        self._refused: CoordinationError | None = None
        self._refused_ms = 0
        self._away_ms = 0
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name="alert-sender", daemon=True),
            threading.Thread(target=self._keep, name="alert-lease", daemon=True),
        ]

    @property
    def routes(self) -> Sequence[Route]:
        return self._routes.routes

    @property
    def view(self) -> SenderView:
        code, problem, since = self._problem()
        sends = bool(self._election.claim)
        return SenderView(
            configured=self._routes.configured,
            sends=sends,
            host=self._host if sends else self._sender_host,
            code=code,
            problem=problem,
            since_ms=since,
            routes=self._states.views(self.routes),
        )

    def start(self) -> None:
        if self._routes.configured:
            for thread in self._threads:
                thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._routes.configured:
            for thread in self._threads:
                thread.join(15)
            self._election.leave()

    def test(self, name: str) -> None:
        """Sends a test message and its end. Raises ProcessError E5183, E5184."""
        route = next((one for one in self.routes if one.name == name), None)
        if route is None:
            raise ProcessError("E5184", f"there is no route '{name[:64]}'")
        for message in trial(name, self._clock(), self._root, self._address()):
            self._deliver(route, message)

    def _problem(self) -> tuple[str, str, int]:
        """Code, sentence and since when; the gravest."""
        if not self._routes.configured:
            return "", "", 0
        if self._routes.problem:
            return "E5182", self._routes.problem, self._routes.problem_ms
        if self._refused is not None:
            return "E5187", f"this Monitor can't be elected: {self._refused.what}", self._refused_ms
        if self._away_ms and self._clock() - self._away_ms > _AWAY_MS:
            what = "ZooKeeper does not answer, so that no Monitor is elected; only this outage is reported"
            return "E4001", what, self._away_ms
        failing = [one for one in self._states.views(self.routes) if one.problem]
        if failing:
            first = min(failing, key=lambda one: one.failing_ms)
            return "E5183", first.problem, first.failing_ms
        return "", "", 0

    # Threads

    def _keep(self) -> None:
        """Confirms the lease, whatever a receiver takes."""
        while not self._stop.wait(max(self._coordinator.session_timeout, 1.0) / CHECKS_PER_TIMEOUT):
            try:
                self._election.keep()
            except CoordinationError:
                continue  # the lease ends by itself

    def _run(self) -> None:
        while not self._stop.wait(_SECONDS):
            try:
                self.step()
            except Exception:
                log.exception("messages of alerts could not be sent", code="E5011")

    def step(self) -> None:
        """One round. Raises nothing that ZooKeeper or a receiver causes."""
        if self._routes.refresh():
            self._states.forget_failures()
        alerts = self._alerts()
        if not alerts.evaluated:
            return
        own = [one for one in alerts.loud if one.own]
        self._dispatch(own, alerts, self._own, self._note_own)
        try:
            self._look()
            self._of_installation(alerts)
            self._refused, self._away_ms = None, 0
        except NotConnected:
            self._away_ms = self._away_ms or self._clock()
        except NodeMissing:
            log.info("another monitor sends alerts from now on")
        except CoordinationError as error:
            if self._refused is None:
                log.error("this monitor can't be elected to send alerts", code="E5187", error=error.what)
                self._refused_ms = self._clock()
            self._refused = error

    def _look(self) -> None:
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return
        set_cluster_list(self._outgoing.entries())
        self._sender_host = self._store.read().host
        self._looked = time.monotonic()

    def _of_installation(self, alerts: Alerts) -> None:
        if self._coordinator.connection is not Connection.CONNECTED:
            raise NotConnected("E4001", "ZooKeeper does not answer")
        if self._election.stand():
            self._groups = self._store.read().groups
            self._states.forget_failures()
            adopted = [one for group in self._groups.values() for one in sent_of(group)]
            log.info("this monitor sends alerts", host=self._host, sent_before=len(adopted))
            alerts.adopt(adopted)
            self._note(self._groups)
            return  # the adopted alerts are evaluated before anything is said of them
        if not self._election.claim:
            if self._groups:
                self._groups = {}
                self._states.forget_failures()
            return
        if alerts.current:
            loud = [one for one in alerts.loud if not one.own]
            self._dispatch(loud, alerts, self._groups, self._note)

    def _note_own(self, groups: Groups) -> None:
        self._own = groups

    def _note(self, groups: Groups) -> None:
        """What was sent is known here, also while ZooKeeper is away."""
        self._groups = groups
        claim = self._election.claim
        if not claim:
            raise NodeMissing("E4004", "the lock of the sender is lost")
        self._store.write(groups, claim)

    def _dispatch(self, loud: Sequence[Active], alerts: Alerts, before: Groups, note: Callable[[Groups], None]) -> None:
        """Sends what is due. `note`: is given the groups before the first message and after each."""
        now = self._clock()
        found = plan(self.routes, loud, alerts.keys, before, now)
        groups = found.groups
        if groups != before:
            note(dict(groups))
        for due in found.due:
            if self._stop.is_set() or not self._states.may_try(due.route.name, self._clock()):
                continue
            if self._worth_sending(due) and not self._try(due):
                continue
            if due.after is None:
                groups.pop(due.key, None)
            else:
                groups[due.key] = due.after
            note(dict(groups))

    @staticmethod
    def _worth_sending(due: Due) -> bool:
        return bool(due.firing) or (due.route.send_resolved and bool(due.resolved))

    def _try(self, due: Due) -> bool:
        resolved: tuple[Sent, ...] = due.resolved if due.route.send_resolved else ()
        message = Message(
            key=due.key,
            root=self._root,
            route=due.route.name,
            labels=due.labels,
            firing=due.firing,
            resolved=resolved,
            time_ms=self._clock(),
            monitor=self._address(),
        )
        try:
            self._deliver(due.route, message)
        except ProcessError:
            return False
        return True

    def _deliver(self, route: Route, message: Message) -> None:
        try:
            self._send(route, message)
        except ProcessError as error:
            if self._states.failed(route.name, self._clock(), error):
                log.error("an alert could not be sent", code=error.code, error=error.what, found=error.found)
            raise
        self._states.succeeded(route.name, self._clock())
        log.info("alerts were sent", route=route.name, title=message.title, group=message.key)


def problem_line(view: SenderView) -> str:
    """For /healthz, "" where messages are sent, or none are to be sent."""
    return f"alerts: not sent ({view.code})" if view.problem else ""
