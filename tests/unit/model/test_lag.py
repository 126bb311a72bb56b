"""Lag in each situation that an operator may meet."""

from __future__ import annotations

import msgspec
import pytest

from replicator.model.lag import PROOF_SECONDS, Lag, LagFacts, lag

NOW = 1_760_000_000_000
S = 1_000
IDLE = LagFacts(at_ms=NOW, caught_up=True, proof_ms=NOW - 4 * S)


def of(facts: LagFacts | None, **more: int | bool) -> Lag:
    return lag(msgspec.structs.replace(facts, **more) if facts is not None else None, NOW)


def test_idle() -> None:
    """However old the last event is: the last heartbeat says that there is no other."""
    assert of(IDLE) == Lag(0.0)
    assert of(IDLE, delivered_ms=NOW - 21 * 60 * S) == Lag(0.0)


def test_caught_up() -> None:
    assert of(IDLE, delivered_ms=NOW - 300, proof_ms=NOW) == Lag(0.0)


def test_in_flight() -> None:
    assert of(IDLE, waiting_ms=NOW - 40) == Lag(0.04)


def test_sink_down_with_a_row_waiting() -> None:
    assert of(IDLE, waiting_ms=NOW - 77 * S) == Lag(77.0)
    lost = of(IDLE, waiting_ms=NOW - 77 * S, proof_ms=NOW - 70 * S, source_lost=True)
    assert lost == Lag(77.0), "nothing older can come, wherever the source is"


def test_sink_down_and_nothing_changed() -> None:
    assert of(IDLE, proof_ms=NOW - 2 * S) == Lag(0.0), "the end of the source's log is what was read"


def test_sink_down_and_changes_that_are_not_read() -> None:
    """They may be of other tables, and are not older than the last look that found none."""
    found = of(IDLE, proof_ms=NOW - 45 * S, unread_ms=NOW - 40 * S)
    assert (found.seconds, found.at_most) == (45.0, True)
    assert "not read" in found.note
    never = of(LagFacts(at_ms=NOW), unread_ms=NOW - 40 * S)
    assert never.seconds is None, "since when is not known"
    assert "not read" in never.note


def test_source_down() -> None:
    assert of(IDLE, source_lost=True) == Lag(None, note="the source can't be reached")
    silent = of(IDLE, proof_ms=NOW - int(PROOF_SECONDS * S) - 1)
    assert (silent.seconds, silent.note) == (None, "nothing was heard from the source for 8 s")


def test_reader_behind() -> None:
    """Between two batches nothing is in flight, and the next change is a little younger than the last one."""
    behind = LagFacts(at_ms=NOW, delivered_ms=NOW - 3600 * S)
    assert of(behind, waiting_ms=NOW - 3601 * S) == Lag(3601.0)
    between = of(behind)
    assert (between.seconds, between.at_most) == (3600.0, True)


def test_a_stream_that_has_just_been_opened() -> None:
    assert of(LagFacts(at_ms=NOW)).seconds is None
    assert of(LagFacts(at_ms=NOW)).note


def test_heartbeats_off() -> None:
    """The end of the source's log proves the same, as long as somebody asks."""
    assert of(IDLE, proof_ms=NOW - 6 * S) == Lag(0.0)
    assert of(IDLE, proof_ms=NOW - 60 * S).seconds is None


@pytest.mark.parametrize("skew_s", [-3600, -5, 0, 5, 3600])
def test_clock_skew_is_taken_out(skew_s: int) -> None:
    assert of(IDLE, waiting_ms=NOW + skew_s * S - 2 * S, skew_ms=skew_s * S) == Lag(2.0)


def test_clock_skew_that_is_not_measured_is_clamped() -> None:
    assert of(IDLE, waiting_ms=NOW + 5 * S) == Lag(0.0)


def test_paused() -> None:
    """No worker, so no facts."""
    assert of(None).seconds is None


def test_snapshot_under_way() -> None:
    """Its rows are no changes; those that the stream has are, and those that it is not asked for are not known."""
    assert of(IDLE, waiting_ms=NOW - 3 * S) == Lag(3.0)
    held = of(IDLE, proof_ms=NOW - 20 * S, unread_ms=NOW - 15 * S)
    assert (held.seconds, held.at_most) == (20.0, True)


def test_filtered_tables_only() -> None:
    """Events that no record is made of: read, so caught up, and nothing waits."""
    assert of(IDLE, delivered_ms=0, proof_ms=NOW) == Lag(0.0)
