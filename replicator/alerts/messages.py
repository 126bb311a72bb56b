"""The messages of a group, in the form that each kind of receiver reads. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any, Final

import msgspec

from replicator.alerts.evaluation import Active
from replicator.alerts.figures import Scope
from replicator.alerts.grouping import Sent
from replicator.alerts.route import Email
from replicator.alerts.rule import SEVERITIES, Severity

LISTED: Final = 50
"""Alerts that a message names; the number of the others follows."""
_LONGEST: Final = 1000
_SLACK: Final = {"critical": "danger", "warning": "warning", "info": "#439fe0"}


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        key: of the group, by which receivers recognize a repetition.
        root: of the installation in ZooKeeper; monitor: address of the Monitor that sends, for people.
        test: of nothing that fires.
    """

    key: str
    root: str
    route: str
    labels: dict[str, str]
    firing: tuple[Active, ...]
    resolved: tuple[Sent, ...] = ()
    time_ms: int
    monitor: str = ""
    test: bool = False

    @property
    def severity(self) -> Severity:
        return min((one.severity for one in self.firing), key=SEVERITIES.index, default="info")

    @property
    def title(self) -> str:
        """`[FIRING 2] BusLag (task orders)`."""
        state = f"FIRING {len(self.firing)}" if self.firing else f"RESOLVED {len(self.resolved)}"
        keys = [*(one.key for one in self.firing), *(one.key for one in self.resolved)]
        rules = dict.fromkeys(key.rule for key in keys)
        names = dict.fromkeys(_subject(key.of, key.name) for key in keys)
        of = f" ({next(iter(names))})" if len(names) == 1 and next(iter(names)) else ""
        prefix = "TEST " if self.test else ""
        return f"{prefix}[{state}] {', '.join(list(rules)[:3])}{' ...' if len(rules) > 3 else ''}{of}"[:200]

    @property
    def lines(self) -> list[str]:
        """One sentence for each alert."""
        firing = [f"{one.severity}: {one.summary} (since {_time(one.alert.fired_ms)})" for one in self.firing[:LISTED]]
        ended = [f"resolved: {one.rule} {_subject(one.of, one.name)}" for one in self.resolved[:LISTED]]
        more = max(len(self.firing) - LISTED, 0) + max(len(self.resolved) - LISTED, 0)
        return [*firing, *ended, *([f"and {more} more"] if more else [])]


def webhook(message: Message) -> dict[str, Any]:
    """The product's own form, which the documentation of alerts describes."""
    return {
        "version": 1,
        "installation": message.root,
        "route": message.route,
        "group": {"key": message.key, "labels": message.labels},
        "status": "firing" if message.firing else "resolved",
        "severity": message.severity,
        "title": message.title,
        "test": message.test,
        "time_ms": message.time_ms,
        "monitor": message.monitor,
        "firing": [_alert(one) for one in message.firing[:LISTED]],
        "resolved": [
            {"id": one.id, "rule": one.rule, "of": one.of, "name": one.name, "fired_ms": one.fired_ms}
            for one in message.resolved[:LISTED]
        ],
        "omitted": max(len(message.firing) - LISTED, 0) + max(len(message.resolved) - LISTED, 0),
    }


def slack(message: Message) -> dict[str, Any]:
    """For an incoming webhook of Slack, and what imitates it. `fallback` is what notifications show."""
    colour = _SLACK[message.severity] if message.firing else "good"
    text = "\n".join(_escaped(line) for line in message.lines)
    attachment = {"color": colour, "fallback": message.title, "text": text, "mrkdwn_in": []}
    footer = " ".join(filter(None, (message.root, message.monitor)))
    return {
        "text": f"*{_escaped(message.title)}*",
        "attachments": [{**attachment, "footer": _escaped(footer), "ts": message.time_ms // 1000}],
    }


def pagerduty(message: Message, routing_key: str) -> dict[str, Any]:
    """An event of the Events API v2."""
    event: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "trigger" if message.firing else "resolve",
        "dedup_key": f"mysql-replicator {message.root} {message.key}"[:255],
    }
    if message.firing:
        event["payload"] = {
            "summary": f"{message.title}: {message.lines[0]}"[:_LONGEST],
            "source": message.root,
            "severity": message.severity,
            "timestamp": _time(message.time_ms),
            "component": message.labels.get("task") or message.labels.get("machine") or message.root,
            "class": message.firing[0].rule,
            "custom_details": {"alerts": message.lines, "labels": message.labels},
        }
        event["client"] = "mysql-replicator"
        if message.monitor:
            event["client_url"] = f"{message.monitor}/alerts"
    return event


def email(message: Message, to: Email) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = f"[{message.root.strip('/')}] {message.title}"
    mail["From"] = to.sender
    mail["To"] = ", ".join(to.to)
    mail["Date"] = datetime.fromtimestamp(message.time_ms / 1000, UTC)
    mail["Message-ID"] = f"<{message.key}.{message.time_ms}@mysql-replicator>"
    mail["References"] = f"<{message.key}@mysql-replicator>"  # one thread for a group
    mail["Auto-Submitted"] = "auto-generated"
    runbooks = dict.fromkeys(one.runbook for one in message.firing if one.runbook)
    parts = [*message.lines, "", *(f"Runbook: {runbook}" for runbook in runbooks)]
    parts += [f"Alerts: {message.monitor}/alerts"] if message.monitor else []
    mail.set_content("\n".join(parts) + "\n")
    return mail


def _alert(one: Active) -> dict[str, Any]:
    return {
        "id": one.id,
        "rule": one.rule,
        "of": one.of,
        "name": one.name,
        "severity": one.severity,
        "summary": one.summary,
        "fired_ms": one.alert.fired_ms,
        "labels": one.labels,
        "runbook": one.runbook,
    }


def _subject(of: Scope, name: str) -> str:
    return f"{of} {name}" if name else ""


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _escaped(text: str) -> str:
    """As Slack wants it, so that no name mentions a channel or makes a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
