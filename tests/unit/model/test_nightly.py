"""Which task gets an order of the day, and which is noted as skipped."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.model.nightly import Candidate, VerifyOrder, order_for

MIDNIGHT = 1_700_000_000_000
NIGHTLY: dict[str, Any] = {"verify": {"nightly": True, "at": "01:30"}}


def candidate(**more: Any) -> Candidate:
    return Candidate(**{"uid": "u", "config": NIGHTLY, "desired": "running", "state": "running", **more})


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({"desired": "paused", "state": "paused"}, "the task is paused"),
        ({"desired": "deleted"}, "the task is deleted"),
        ({"state": "failed"}, "the task is failed"),
        ({"state": "absent"}, "no Core runs the task"),
        ({"state": "starting"}, "the task is starting"),
    ],
)
def test_a_task_that_does_not_run_is_skipped(more: dict[str, Any], note: str) -> None:
    order = order_for(candidate(**more), None, "2026-11-26", MIDNIGHT, MIDNIGHT + 5)
    assert order is not None and (order.stage, order.note, order.date) == ("skipped", note, "2026-11-26")
    again = order_for(candidate(), order, "2026-11-26", MIDNIGHT, MIDNIGHT + 9)
    assert again is None, "only the next day"
    following = order_for(candidate(), order, "2026-11-27", MIDNIGHT, MIDNIGHT + 9)
    assert following is not None and following.stage == "ordered"


@pytest.mark.parametrize("config", [None, {}, {"verify": {}}, {"verify": {"nightly": False}}, {"verify": 3}])
def test_who_does_not_want_it_gets_nothing(config: Any) -> None:
    assert order_for(candidate(config=config), None, "2026-11-26", MIDNIGHT, MIDNIGHT) is None


def test_it_begins_at_its_time_or_at_once_when_that_is_over() -> None:
    early = order_for(candidate(), None, "2026-11-26", MIDNIGHT, MIDNIGHT + 1)
    late = order_for(candidate(), None, "2026-11-26", MIDNIGHT, MIDNIGHT + 10_000_000)
    assert early is not None and early.not_before_ms == MIDNIGHT + 90 * 60_000
    assert late is not None and late.not_before_ms == MIDNIGHT + 10_000_000


def test_one_that_is_at_work_is_left_alone_and_one_whose_task_stopped_is_not() -> None:
    last = VerifyOrder(uid="u", date="2026-11-25", stage="running")
    assert order_for(candidate(), last, "2026-11-26", MIDNIGHT, MIDNIGHT) is None
    assert order_for(candidate(state="absent"), last, "2026-11-26", MIDNIGHT, MIDNIGHT) is not None
    assert order_for(candidate(uid="new"), last, "2026-11-26", MIDNIGHT, MIDNIGHT) is not None


DATES = st.integers(1, 28).map(lambda day: f"2026-11-{day:02d}")


@given(st.lists(DATES, max_size=20), st.lists(st.sampled_from(["running", "failed", "absent"]), min_size=20))
def test_at_most_once_a_date_whatever_servers_do(dates: list[str], states: list[str]) -> None:
    last, given_dates = None, []
    for date, state in zip(dates, states, strict=False):
        order = order_for(candidate(state=state), last, date, MIDNIGHT, MIDNIGHT)
        if order is not None:
            given_dates.append(order.date)
            last = order
    assert given_dates == sorted(set(given_dates)), "never twice, never of a day that is over"
