"""When which message is due: group_wait, group_interval and repeat_interval, as in Alertmanager. Pure.

An alert that is silenced is in no message as firing. If it was sent before it was silenced, its end is still sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from replicator.alerts.evaluation import Active, Key, id_of
from replicator.alerts.figures import Scope
from replicator.alerts.route import Route, labels_of, routes_for
from replicator.coordination.alert_records import SentGroup

Groups = dict[str, SentGroup]


class Sent(msgspec.Struct, frozen=True):
    """An alert that was sent as firing."""

    rule: str
    of: Scope
    name: str
    fired_ms: int

    @property
    def key(self) -> Key:
        return Key(self.rule, self.of, self.name)

    @property
    def id(self) -> str:
        return id_of(self.key)


class Due(msgspec.Struct, frozen=True):
    """A message that is to be sent now.

    Attributes:
        key: of the group, the same at each Monitor.
        firing: all that fire in the group; none: the group is over.
        resolved: what was sent as firing and has ended.
        after: the group, once the message is sent; None: it is forgotten.
    """

    key: str
    route: Route
    labels: dict[str, str]
    firing: tuple[Active, ...]
    resolved: tuple[Sent, ...]
    after: SentGroup | None


class Plan(msgspec.Struct, frozen=True):
    """groups: as they are before a message is sent; due: the messages, the most urgent first."""

    groups: Groups
    due: list[Due]


def sent_of(group: SentGroup) -> list[Sent]:
    return [Sent(rule, of, name, fired) for rule, of, name, fired in group.alerts]  # type: ignore[arg-type]


def plan(
    routes: Sequence[Route],
    loud: Iterable[Active],
    active: Collection[Key],
    before: Mapping[str, SentGroup],
    now_ms: int,
) -> Plan:
    """
    Args:
        loud: alerts that fire and are not silenced.
        active: all alerts that have not ended, also pending and silenced ones.
        before: the groups that there are.
    """
    by_name = {route.name: route for route in routes}
    members: dict[str, list[Active]] = {}
    heads: dict[str, tuple[Route, dict[str, str]]] = {}
    for alert in loud:
        labels = labels_of(alert)
        for route in routes_for(labels, routes):
            common = {label: labels.get(label, "") for label in route.group_by}
            key = group_key(route, common)
            members.setdefault(key, []).append(alert)
            heads[key] = route, common
    groups: Groups = {}
    due: list[Due] = []
    for key in [*before, *(key for key in members if key not in before)]:
        group = before.get(key)
        if key in heads:
            route, common = heads[key]
        elif group is not None and group.route in by_name:
            route, common = by_name[group.route], group.labels
        else:
            continue  # the route was removed, and with it those who would read of its alerts
        firing = tuple(sorted(members.get(key, ()), key=lambda one: (one.alert.fired_ms, one.key)))
        group = group or SentGroup(route=route.name, labels=common, since_ms=now_ms)
        if not group.sent_ms and not firing:
            continue  # it ended within group_wait
        groups[key] = group
        message = _message(key, route, group, firing, active, now_ms)
        if message is not None:
            due.append(message)
    due.sort(key=lambda one: (not any(alert.severity == "critical" for alert in one.firing), one.key))
    return Plan(groups, due)


def _message(
    key: str, route: Route, group: SentGroup, firing: tuple[Active, ...], active: Collection[Key], now_ms: int
) -> Due | None:
    sent = sent_of(group)
    known = {one.key for one in sent}
    resolved = tuple(one for one in sent if one.key not in active)
    fresh = any(alert.key not in known for alert in firing)
    ended = set(resolved)
    silenced = [one for one in sent if one not in ended and one.key not in {alert.key for alert in firing}]
    waited = now_ms - (group.sent_ms or group.since_ms)
    if not group.sent_ms:
        ready = waited >= route.group_wait_s * 1000
    elif fresh or resolved:
        ready = waited >= route.group_interval_s * 1000
    else:
        ready = bool(firing) and waited >= route.repeat_s * 1000
    if not ready and waited >= 0:
        return None
    if waited < 0 and not (fresh or resolved):
        return None  # the clock of the Monitor before was ahead
    alerts = [(one.rule, one.of, one.name, one.alert.fired_ms) for one in firing]
    alerts += [(one.rule, one.of, one.name, one.fired_ms) for one in silenced]
    after = msgspec.structs.replace(group, alerts=tuple(alerts), sent_ms=now_ms) if alerts else None
    return Due(key, route, group.labels, firing, resolved, after)


def group_key(route: Route, labels: Mapping[str, str]) -> str:
    text = "\0".join([route.name, *(f"{key}={value}" for key, value in sorted(labels.items()))])
    return hashlib.sha256(text.encode()).hexdigest()[:20]
