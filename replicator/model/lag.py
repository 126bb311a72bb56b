"""Replication lag of a task: the age of the oldest change that the source has and the sink has not acknowledged. Pure.

The time since the last event is another figure: an idle source has an old last event and no lag.
"""

from __future__ import annotations

from typing import Final

import msgspec

_UNPROVEN: Final = "the source has not shown yet that it has no more changes"
PROOF_SECONDS: Final = 8.0
"""How long it counts that the source had nothing more. Heartbeats renew it, by default every 5 s."""


class LagFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a data path knows of its source and its sink. Times in ms since the epoch, 0: none. Commit times are by the
    source's clock, the others by this host's.

    Attributes:
        at_ms: when all of this was true.
        waiting_ms: commit time of the oldest change that was read and is not acknowledged.
        delivered_ms: commit time of the last change that was acknowledged since the stream was opened.
        caught_up: the source had nothing at `proof_ms` that was not read.
        proof_ms: when the source showed that last, by an event, a heartbeat, or the end of its log.
        unread_ms: since when the source is known to have more than what was read, while nothing is read.
        source_lost: the source did not answer when it was asked last.
        skew_ms: the source's clock minus this host's; None: not measured.
    """

    at_ms: int = 0
    waiting_ms: int = 0
    delivered_ms: int = 0
    caught_up: bool = False
    proof_ms: int = 0
    unread_ms: int = 0
    source_lost: bool = False
    skew_ms: int | None = None


class Lag(msgspec.Struct, frozen=True):
    """`seconds` None: unknown. `at_most`: it is an upper bound. `note`: why it is unknown or a bound, else ""."""

    seconds: float | None
    at_most: bool = False
    note: str = ""


def lag(facts: LagFacts | None, now_ms: int) -> Lag:
    """Never 0 unless the source has shown that nothing waits. Differences of the two clocks are taken out as far as
    they are measured; what remains never makes the lag negative."""
    if facts is None or not facts.at_ms:
        return Lag(None, note="nothing is known of the source yet")
    if facts.waiting_ms:
        return Lag(_age(facts.waiting_ms, facts, now_ms))
    if facts.unread_ms:
        return _unread(facts, now_ms)
    if facts.source_lost:
        return Lag(None, note="the source can't be reached")
    if not facts.caught_up:
        if facts.delivered_ms:
            return Lag(_age(facts.delivered_ms, facts, now_ms), at_most=True, note=_UNPROVEN)
        return Lag(None, note=_UNPROVEN)
    silence = now_ms - facts.proof_ms
    if silence > PROOF_SECONDS * 1000:
        return Lag(None, note=f"nothing was heard from the source for {silence // 1000} s")
    return Lag(0.0)


def _unread(facts: LagFacts, now_ms: int) -> Lag:
    """Its log goes on: with changes of the task, or with others."""
    note = "the source has changes that are not read while the sink does not answer; some may be of other tables"
    if not facts.proof_ms:
        return Lag(None, note=note)
    return Lag(max(0, now_ms - facts.proof_ms) / 1000, at_most=True, note=note)


def _age(event_ms: int, facts: LagFacts, now_ms: int) -> float:
    return max(0, now_ms + (facts.skew_ms or 0) - event_ms) / 1000
