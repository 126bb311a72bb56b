"""The state machine of one alert: pending, firing, over. Pure.

An alert that does not exist is None. It is pending while its condition holds and `for` is not over, then firing, and
then, while the condition does not hold and `keep` is not over, still firing. Only time in which the condition is known
counts: neither for `for` nor for `keep` does a period count in which figures were missing, ZooKeeper was away, or no
Monitor evaluated. What is not known changes no state.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from replicator.alerts.condition import Verdict

State: TypeAlias = Literal["pending", "firing"]
LONGEST_GAP_MS: Final = 60_000
"""Between two evaluations: a longer time does not count as known."""


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        since_ms: when the condition began to hold; fired_ms: when the alert began to fire, 0 while it is pending.
        held_ms: for how long the condition has been known to hold since then, without the time before it last failed.
        cleared_ms: for how long it has been known not to hold.
        verdict, seen_ms: the last evaluation, and when it was.
        unknown_ms: since when the condition is not known, 0 while it is.
    """

    state: State
    since_ms: int
    seen_ms: int
    fired_ms: int = 0
    held_ms: int = 0
    cleared_ms: int = 0
    verdict: Verdict = True
    unknown_ms: int = 0


def step(alert: Alert | None, verdict: Verdict, now_ms: int, for_s: int, keep_s: int) -> Alert | None:
    """The alert after an evaluation; None: there is none, it was never firing or has ended."""
    if alert is None:
        if verdict is not True:
            return None
        fresh = Alert(state="pending", since_ms=now_ms, seen_ms=now_ms)
        return _fired(fresh, now_ms) if for_s <= 0 else fresh
    passed = _known(alert, verdict, now_ms)
    change = msgspec.structs.replace
    if verdict is None:
        return change(alert, verdict=None, seen_ms=now_ms, unknown_ms=alert.unknown_ms or now_ms)
    if verdict:
        held = alert.held_ms + passed
        alert = change(alert, verdict=True, seen_ms=now_ms, held_ms=held, cleared_ms=0, unknown_ms=0)
        return _fired(alert, now_ms) if alert.state == "pending" and held >= for_s * 1000 else alert
    if alert.state == "pending":
        return None
    cleared = alert.cleared_ms + passed
    if cleared >= keep_s * 1000:
        return None
    return change(alert, verdict=False, seen_ms=now_ms, cleared_ms=cleared, unknown_ms=0)


def _known(alert: Alert, verdict: Verdict, now_ms: int) -> int:
    """Milliseconds since the last evaluation that count: both have to agree."""
    passed = now_ms - alert.seen_ms
    return passed if alert.verdict is verdict and 0 <= passed <= LONGEST_GAP_MS else 0


def _fired(alert: Alert, now_ms: int) -> Alert:
    return msgspec.structs.replace(alert, state="firing", fired_ms=now_ms)
