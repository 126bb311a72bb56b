"""What people and programs see of alerts: the values of /alerts and /api/alerts."""

from __future__ import annotations

import msgspec

from monitor.alerts.store import Past
from replicator.alerts.evaluation import Active
from replicator.alerts.figures import Scope
from replicator.alerts.rule import SEVERITIES, Rule, Severity
from replicator.config.labels import Selector


class AlertView(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that is pending or firing.

    Attributes:
        id: of this alert of this rule; the same with each Monitor.
        since_ms: when its condition began to hold; fired_ms: 0 while it is pending.
        unknown_ms: since when it is not known whether the condition holds, 0 while it is.
        ending: the condition does not hold any more, and `keep` is not over.
        silenced_by: id of a silence, "" for none.
    """

    id: str
    rule: str
    severity: Severity
    of: Scope
    name: str
    state: str
    summary: str
    since_ms: int
    fired_ms: int = 0
    unknown_ms: int = 0
    ending: bool = False
    runbook: str = ""
    labels: dict[str, str] = {}
    task_labels: dict[str, str] = {}
    silenced_by: str = ""


class PastView(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that has ended. how: resolved, gone or rule removed."""

    rule: str
    severity: Severity
    of: Scope
    name: str
    summary: str
    fired_ms: int
    ended_ms: int
    how: str
    task_labels: dict[str, str] = {}

    @property
    def lasted_s(self) -> float:
        return max(self.ended_ms - self.fired_ms, 0) / 1000


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """A rule. changed: by the file of the Monitor, or only in it."""

    name: str
    of: Scope
    when: str
    for_s: int
    keep_s: int
    severity: Severity
    summary: str
    runbook: str
    tasks: str
    changed: bool


class SilenceView(msgspec.Struct, frozen=True, kw_only=True):
    """A silence that is in force. alerts: firing ones that it covers."""

    id: str
    until_ms: int
    by: str
    reason: str
    matchers: str
    alerts: int = 0


class RouteView(msgspec.Struct, frozen=True, kw_only=True):
    """A route of this Monitor. problem: why its last message was not accepted, "" for none."""

    name: str
    kind: str
    to: str
    sent: int = 0
    failed: int = 0
    last_ms: int = 0
    problem: str = ""
    failing_ms: int = 0


class SenderView(msgspec.Struct, frozen=True, kw_only=True):
    """Whether messages are sent.

    Attributes:
        configured: this Monitor has routes.
        sends: this Monitor is the one that sends; host: the one that does, "" for none.
        code, problem, since_ms: why this Monitor can't send, and since when; "" where it can.
    """

    configured: bool = False
    sends: bool = False
    host: str = ""
    code: str = ""
    problem: str = ""
    since_ms: int = 0
    routes: tuple[RouteView, ...] = ()


class AlertsView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of alerts that a login may see. The worst first."""

    api_version: str = msgspec.field(default="v1", name="apiVersion")
    kind: str = "Alerts"
    time_ms: int = 0
    firing: tuple[AlertView, ...] = ()
    pending: tuple[AlertView, ...] = ()
    past: tuple[PastView, ...] = ()
    silences: tuple[SilenceView, ...] = ()
    rules: tuple[RuleView, ...] = ()
    sender: SenderView = SenderView()
    problem: str = ""
    rules_problem: str = ""

    @property
    def loud(self) -> tuple[AlertView, ...]:
        """Firing and not silenced."""
        return tuple(one for one in self.firing if not one.silenced_by)


def alert_view(active: Active, silenced_by: str = "") -> AlertView:
    alert = active.alert
    return AlertView(
        id=active.id,
        rule=active.rule,
        severity=active.severity,
        of=active.of,
        name=active.name,
        state=alert.state,
        summary=active.summary,
        since_ms=alert.since_ms,
        fired_ms=alert.fired_ms,
        unknown_ms=alert.unknown_ms,
        ending=alert.verdict is False,
        runbook=active.runbook,
        labels=active.labels,
        task_labels=active.task_labels,
        silenced_by=silenced_by,
    )


def past_view(past: Past) -> PastView:
    active = past.active
    return PastView(
        rule=active.rule,
        severity=active.severity,
        of=active.of,
        name=active.name,
        summary=active.summary,
        fired_ms=active.alert.fired_ms,
        ended_ms=past.ended_ms,
        how=past.how,
        task_labels=active.task_labels,
    )


def rule_view(rule: Rule) -> RuleView:
    return RuleView(
        name=rule.name,
        of=rule.of,
        when=rule.when,
        for_s=rule.for_s,
        keep_s=rule.keep_s,
        severity=rule.severity,
        summary=rule.summary,
        runbook=rule.runbook,
        tasks=rule.tasks,
        changed=not rule.shipped,
    )


def order(alert: AlertView) -> tuple[bool, int, int, str, str]:
    """Silenced ones last, the worst first, then the oldest."""
    since = alert.fired_ms or alert.since_ms
    return bool(alert.silenced_by), SEVERITIES.index(alert.severity), since, alert.rule, alert.name


def limited(view: AlertsView, tasks: frozenset[str], selector: Selector | None) -> AlertsView:
    """For a login with a selector: alerts of its tasks, and of nothing else. An alert of a former task of the same name
    has that one's labels. None: a selector that can't be parsed."""

    def seen(one: AlertView | PastView) -> bool:
        return one.of == "task" and one.name in tasks and selector is not None and selector.matches(one.task_labels)

    firing = tuple(one for one in view.firing if seen(one))
    covering = {one.silenced_by for one in firing}
    return msgspec.structs.replace(
        view,
        firing=firing,
        pending=tuple(one for one in view.pending if seen(one)),
        past=tuple(one for one in view.past if seen(one)),
        silences=tuple(
            msgspec.structs.replace(one, alerts=sum(alert.silenced_by == one.id for alert in firing))
            for one in view.silences
            if one.id in covering
        ),
        sender=msgspec.structs.replace(view.sender, routes=()),
    )
