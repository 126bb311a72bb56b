"""What a task retries, since when, and when that is over."""

from __future__ import annotations

import pytest

from core.protocol import Status
from core.retries import Retries, side_of
from replicator.model.lag import LagFacts
from replicator.model.retrying import EFFECTS, Blocked

REFUSED = {"code": "E3001", "what": "no broker answers", "found": "127.0.0.1:9092", "fix": "Check it."}
FLOWING = Status(LagFacts(), flowing=True)
STUCK = Status(LagFacts())


def retries(sink: str = "kafka") -> Retries:
    made = Retries()
    made.begin(sink, same_term=False)
    return made


def test_nothing_is_retried_at_first() -> None:
    made = retries()
    made.seen(STUCK, 1_000)
    assert made.present(2_000) is None


def test_errors_count_from_the_first_one() -> None:
    made = retries()
    for number in range(3):
        made.failed({**REFUSED, "found": str(number)}, 10_000 + number * 5_000)
        made.seen(STUCK, 11_000 + number * 5_000)
    present = made.present(30_000)
    assert present is not None
    assert (present.side, present.code, present.found, present.attempts) == ("sink", "E3001", "2", 3)
    assert (present.since_ms, present.seconds) == (10_000, 20.0)
    assert present.effect == EFFECTS["sink"]


@pytest.mark.parametrize(("sink", "code"), [("kafka", "E3002"), ("mysql", "E3402"), ("mariadb", "E3402"), ("file", "")])
def test_a_call_that_does_not_return_is_told_before_it_fails(sink: str, code: str) -> None:
    made = retries(sink)
    made.seen(Status(LagFacts(), Blocked("sink", 4.0)), 10_000)
    present = made.present(11_000)
    assert present is not None
    assert (present.side, present.code, present.since_ms, present.seconds) == ("sink", code, 6_000, 5.0)
    assert (present.attempts, present.what) == (0, "the sink does not answer")
    made.failed({**REFUSED, "code": "E3002"}, 36_000)
    present = made.present(36_000)
    assert present is not None
    assert (present.since_ms, present.attempts) == (6_000, 1), "it began when the call did"


def test_it_is_over_when_data_flows_and_not_before() -> None:
    """A sink that lets itself be opened, and refuses records, is retried all the while."""
    made = retries()
    made.failed(REFUSED, 1_000)
    made.seen(STUCK, 2_000)
    assert made.present(2_000) is not None
    made.seen(FLOWING, 3_000)
    assert made.present(3_000) is None
    made.failed(REFUSED, 9_000)
    present = made.present(9_000)
    assert present is not None
    assert (present.since_ms, present.attempts) == (9_000, 1)


def test_a_call_that_returns_at_last_was_no_failure() -> None:
    made = retries()
    made.seen(Status(LagFacts(), Blocked("source", 4.0)), 10_000)
    present = made.present(10_000)
    assert present is not None
    assert (present.side, present.code) == ("source", "E2001")
    made.seen(STUCK, 11_000)
    assert made.present(11_000) is None


def test_a_worker_of_the_same_term_goes_on_retrying_and_another_term_begins() -> None:
    made = retries()
    made.failed({"code": "E5008", "what": "the worker ended"}, 1_000)
    made.begin("kafka", same_term=True)
    present = made.present(2_000)
    assert present is not None
    assert (present.side, present.since_ms) == ("host", 1_000)
    made.begin("kafka", same_term=False)
    assert made.present(2_000) is None


@pytest.mark.parametrize(
    ("code", "side"),
    [
        ("E2001", "source"),
        ("E2002", "source"),
        ("E3001", "sink"),
        ("E3401", "sink"),
        ("E3402", "sink"),
        ("E3301", "registry"),
        ("E2311", "host"),
        ("E5018", "host"),
        ("E4001", ""),
        ("", ""),
    ],
)
def test_side(code: str, side: str) -> None:
    assert side_of(code) == side
