"""The test message of a route, and the message of its end, so that no incident stays open."""

from __future__ import annotations

import uuid

import msgspec

from replicator.alerts.evaluation import Active
from replicator.alerts.grouping import Sent
from replicator.alerts.machine import Alert
from replicator.alerts.messages import Message


def trial(route: str, now_ms: int, root: str = "", monitor: str = "") -> tuple[Message, Message]:
    """Each test is a group by itself: receivers drop what they have seen."""
    key = f"test-{uuid.uuid4().hex[:12]}"
    alert = Alert(state="firing", since_ms=now_ms, seen_ms=now_ms, fired_ms=now_ms)
    summary = f"this is a test of the route {route}; nothing is wrong"
    one = Active(
        rule="RouteTest", of="monitor", name="", severity="info", summary=summary, runbook="", labels={},
        alert=alert,
    )  # fmt: skip
    ended = Sent(one.rule, one.of, one.name, now_ms)
    root = root or "mysql-replicator"
    begin = Message(
        key=key, root=root, route=route, labels={}, firing=(one,), time_ms=now_ms, monitor=monitor, test=True
    )
    return begin, msgspec.structs.replace(begin, firing=(), resolved=(ended,))
