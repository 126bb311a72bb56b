"""Evaluates the alert rules once a second, over the figures that the Monitor shows."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from monitor.alerts.rules_of_file import RulesOfFile
from monitor.alerts.shown import AlertsView, SenderView, SilenceView, alert_view, order, past_view, rule_view
from monitor.alerts.store import AlertStore, Past
from monitor.alerts.subjects import Subjects
from monitor.view import AlertMark, View
from replicator.alerts.evaluation import Active, Change, Key
from replicator.alerts.grouping import Sent
from replicator.alerts.machine import Alert
from replicator.alerts.rule import Rule
from replicator.alerts.silence import Silence, covering
from replicator.coordination.clock import now_ms
from replicator.telemetry.log import get_logger

log = get_logger("monitor")

_SECONDS: Final = 1.0
_SHARE: Final = 10
"""An evaluation of many tasks takes at most a tenth of the time."""
_LONGEST_WAIT: Final = 20.0
_SAVE_SECONDS: Final = 30.0
_PAST: Final = 200


class Alerts:
    """A thread between `start` and `stop`; what it has found is read from any thread.

    Args:
        view: the present figures.
        sender: of the messages, for the page.
        clock: wall clock, ms.
    """

    def __init__(
        self,
        view: Callable[[], View],
        subjects: Subjects,
        rules: RulesOfFile,
        store: AlertStore,
        sender: Callable[[], SenderView] = SenderView,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._look = view
        self._subjects = subjects
        self._rules = rules
        self._store = store
        self._sender = sender
        self._clock = clock
        self._saved = 0.0
        self._unsaved: list[Change] = []
        self.problem = ""
        self._active: dict[Key, Active] = {}
        self._past: list[Past] = []
        self._restore()
        self._silences: Sequence[Silence] = ()
        self._lock = threading.Lock()
        self._current = False
        self._view = AlertsView()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="monitor-alerts", daemon=True)

    @property
    def evaluated(self) -> bool:
        """At least once since the start."""
        return self._view.time_ms > 0

    @property
    def current(self) -> bool:
        """The last evaluation had figures of ZooKeeper, and all that was adopted is in it."""
        return self._current

    @property
    def keys(self) -> frozenset[Key]:
        """Of all alerts that have not ended."""
        return frozenset(self._active)

    @property
    def loud(self) -> list[Active]:
        """Firing and not silenced."""
        now = self._clock()
        firing = [one for one in self._active.values() if one.firing]
        return [one for one in firing if covering(self._silences, *one.key, one.labels, now) is None]

    def adopt(self, sent: Iterable[Sent]) -> None:
        """Alerts that another Monitor has sent as firing. From now on they are ours, since the same time, until an
        evaluation finds that they have ended."""
        with self._lock:
            self._current = False
            now = self._clock()
            rules = {rule.name: rule for rule in self._rules.evaluator.rules}
            for one in sent:
                rule, former = rules.get(one.rule), self._active.get(one.key)
                if rule is None or (former is not None and former.firing):
                    continue
                alert = Alert(
                    state="firing", since_ms=one.fired_ms, seen_ms=now, fired_ms=one.fired_ms, verdict=None,
                    unknown_ms=now,
                )  # fmt: skip
                self._active = {**self._active, one.key: _adopted(rule, one, former, alert)}

    @property
    def view(self) -> AlertsView:
        return msgspec.structs.replace(self._view, sender=self._sender())

    def marked(self, view: View) -> View:
        """With what all pages show of alerts."""
        found, sender = self._view, self._sender()
        marks = tuple(AlertMark(one.rule, one.severity, one.of, one.name) for one in found.loud)
        return msgspec.structs.replace(
            view,
            alerts=marks,
            alerts_silenced=len(found.firing) - len(marks),
            alert_code=sender.code,
            alert_problem=sender.problem,
            alert_problem_ms=sender.since_ms,
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(10)
        self._save(force=True)
        self._store.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self.step()
            except Exception:
                log.exception("alert rules could not be evaluated", code="E5011")
            took = time.monotonic() - began
            self._stop.wait(min(max(_SECONDS - took, took * _SHARE), _LONGEST_WAIT))

    def step(self) -> None:
        """One evaluation."""
        with self._lock:
            self._step(self._look())

    def _step(self, view: View) -> None:
        if view.connecting:
            return
        self._rules.refresh()
        now = self._clock()
        subjects, known = self._subjects.of(view, now, self._active)
        found = self._rules.evaluator.evaluate(subjects, known, self._active, now)
        begun = found.active.keys() != self._active.keys()
        self._active = found.active
        for change in found.changes:
            _tell(change)
        self._unsaved += found.changes
        if view.read_ms:  # without ZooKeeper the silences are those that were read last
            self._silences = view.silences
        self._past = [*(_past(one) for one in reversed(found.changes) if one.ended), *self._past][:_PAST]
        self._view = self._shown(now)
        self._current = "task" in known
        self._save(force=begun or bool(self._unsaved))

    def _shown(self, now: int) -> AlertsView:
        views = []
        for active in self._active.values():
            by = covering(self._silences, active.rule, active.of, active.name, active.labels, now)
            views.append(alert_view(active, by.id if by is not None else ""))
        views.sort(key=order)
        firing = tuple(one for one in views if one.state == "firing")
        return AlertsView(
            time_ms=now,
            firing=firing,
            pending=tuple(one for one in views if one.state == "pending"),
            past=tuple(map(past_view, self._past)),
            silences=tuple(
                SilenceView(
                    id=one.id,
                    until_ms=one.until_ms,
                    by=one.by,
                    reason=one.reason,
                    matchers=str(one.matchers),
                    alerts=sum(alert.silenced_by == one.id for alert in firing),
                )
                for one in sorted(self._silences, key=lambda one: one.until_ms)
                if one.until_ms > now
            ),
            rules=tuple(map(rule_view, self._rules.evaluator.rules)),
            problem=self.problem,
            rules_problem=self._rules.problem,
        )

    def _restore(self) -> None:
        try:
            self._active = self._store.active()
            self._past = self._store.past(_PAST)
        except sqlite3.Error as error:
            self._failed(error)

    def _save(self, *, force: bool = False) -> None:
        """Never raises: without its file the Monitor still has its alerts in memory."""
        if not force and time.monotonic() - self._saved < _SAVE_SECONDS:
            return
        try:
            self._store.save(self._active, self._unsaved)
        except sqlite3.Error as error:
            self._failed(error)
            del self._unsaved[:-_PAST]
            return
        self._saved, self._unsaved, self.problem = time.monotonic(), [], ""

    def _failed(self, error: sqlite3.Error) -> None:
        if not self.problem:
            log.error("alerts can't be stored", code="E5186", file=str(self._store.path), error=str(error))
        self.problem = str(error)


def _adopted(rule: Rule, sent: Sent, former: Active | None, alert: Alert) -> Active:
    if former is not None:
        return msgspec.structs.replace(former, alert=alert)
    return Active(
        rule=sent.rule,
        of=sent.of,
        name=sent.name,
        severity=rule.severity,
        summary=f"{sent.rule} of {sent.name or 'the installation'}, as another Monitor has reported",
        runbook=rule.runbook,
        labels=rule.labels,
        alert=alert,
    )


def _past(change: Change) -> Past:
    return Past(change.active, change.time_ms, change.ended or "resolved")


def _tell(change: Change) -> None:
    one = change.active
    what = "alert fires" if change.ended is None else "alert has ended"
    how = {"how": change.ended} if change.ended is not None else {}
    log.info(what, rule=one.rule, severity=one.severity, of=one.of, name=one.name, summary=one.summary, **how)
