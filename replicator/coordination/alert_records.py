"""The payloads of the znodes below /alerts."""

from __future__ import annotations

import msgspec

from replicator.coordination.records import Record


class SilenceRecord(Record, kw_only=True):
    """/alerts/silences/ID: alerts that match all that is given are not sent until then. `labels`: of the task or of the
    rule."""

    rule: str = ""
    task: str = ""
    machine: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    until_ms: int
    by: str = ""
    reason: str = ""
    created_ms: int = 0


class SentGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """A group of alerts of a route: what its last message had, and when.

    Attributes:
        route: its name; labels: that the alerts of the group have in common.
        alerts: (rule, kind, name, when it fired) of each that was sent as firing and has not been sent as resolved.
        sent_ms: 0 while the group waits for its first message.
        since_ms: when the group began.
    """

    route: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    alerts: tuple[tuple[str, str, str, int], ...] = ()
    sent_ms: int = 0
    since_ms: int = 0


class SentRecord(Record, kw_only=True):
    """/alerts/sent, by the Monitor that sends. `groups`: key of a group -> its state."""

    groups: dict[str, SentGroup] = msgspec.field(default_factory=dict)
    host: str = ""
    time_ms: int = 0
