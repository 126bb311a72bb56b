"""How a Monitor is to treat alerts, as the options of its command say."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec

from monitor.alerts.routes_of_file import RoutesOfFile
from monitor.alerts.rules_of_file import RulesOfFile
from monitor.alerts.sender import Sender
from monitor.alerts.service import Alerts
from monitor.alerts.store import AlertStore
from monitor.alerts.subjects import Subjects
from monitor.view import View
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.telemetry.log import get_logger

log = get_logger("monitor")


class Alerting(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        rules: file of rules, None: the shipped ones.
        history: file with alerts, None: in memory.
        routes: file of routes, None: this Monitor sends nothing.
        address: of the Monitor, for messages; "" while it is not known.
    """

    rules: Path | None = None
    history: Path | None = None
    routes: Path | None = None
    address: Callable[[], str] = lambda: ""

    def opened(
        self, coordinator: Coordinator, layout: Layout, view: Callable[[], View], subjects: Subjects
    ) -> tuple[Alerts, Sender]:
        """Raises ProcessError E5180, E5181, E5182."""
        routes = RoutesOfFile(self.routes)
        alerts = Alerts(view, subjects, RulesOfFile(self.rules), self._store(), lambda: sender.view)
        sender = Sender(coordinator, layout, routes, lambda: alerts, self.address)
        return alerts, sender

    def _store(self) -> AlertStore:
        try:
            return AlertStore(self.history)
        except (OSError, sqlite3.Error) as error:
            log.warning("alerts begin with the start of this Monitor", code="E5186", error=str(error))
            return AlertStore(None)
