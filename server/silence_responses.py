"""Response types of silences of alerts."""

from __future__ import annotations

import msgspec

from replicator.alerts import silence
from server.responses import View


class SilenceItem(msgspec.Struct, kw_only=True):
    """Alerts that match all that is given are not sent until `until_ms`. `labels`: of the task or of the rule."""

    id: str
    rule: str
    task: str
    machine: str
    labels: dict[str, str]
    until_ms: int
    by: str
    reason: str
    created_ms: int


class Silence(View, kw_only=True):
    """See `SilenceItem`."""

    kind: str = "Silence"
    id: str
    rule: str
    task: str
    machine: str
    labels: dict[str, str]
    until_ms: int
    by: str
    reason: str
    created_ms: int


class SilenceList(View, kw_only=True):
    kind: str = "SilenceList"
    items: list[SilenceItem]


def item(found: silence.Silence) -> SilenceItem:
    matchers = found.matchers
    return SilenceItem(
        id=found.id,
        rule=matchers.rule,
        task=matchers.task,
        machine=matchers.machine,
        labels=matchers.labels,
        until_ms=found.until_ms,
        by=found.by,
        reason=found.reason,
        created_ms=found.created_ms,
    )


def one(found: silence.Silence) -> Silence:
    return Silence(**msgspec.structs.asdict(item(found)))
