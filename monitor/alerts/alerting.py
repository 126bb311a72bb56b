"""How a Monitor is to treat alerts, as the options of its command say."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec

from monitor.alerts.rules_of_file import RulesOfFile
from monitor.alerts.service import Alerts
from monitor.alerts.store import AlertStore
from monitor.alerts.subjects import Subjects
from monitor.view import View
from replicator.telemetry.log import get_logger

log = get_logger("monitor")


class Alerting(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        rules: file of rules, None: the shipped ones.
        history: file with alerts, None: in memory.
    """

    rules: Path | None = None
    history: Path | None = None

    def alerts(self, view: Callable[[], View], subjects: Subjects) -> Alerts:
        """Raises ProcessError E5150, E5151."""
        return Alerts(view, subjects, RulesOfFile(self.rules), self._store())

    def _store(self) -> AlertStore:
        try:
            return AlertStore(self.history)
        except (OSError, sqlite3.Error) as error:
            log.warning("alerts begin with the start of this Monitor", code="E5156", error=str(error))
            return AlertStore(None)
