from __future__ import annotations

import pytest

from monitor.history.steps import MOST_POINTS, SPANS, STEPS, choose


@pytest.mark.parametrize("span", SPANS)
def test_each_span_is_kept_and_has_not_too_many_points(span: str) -> None:
    step, joined = choose(SPANS[span])
    assert step.keep_s >= SPANS[span]
    assert SPANS[span] // (step.seconds * joined) <= MOST_POINTS
    assert SPANS[span] % (step.seconds * joined) in (0, SPANS[span] % (step.seconds * joined))


def test_the_finest_steps_that_fit_are_chosen() -> None:
    chosen = {span: (choose(seconds).step.seconds, choose(seconds).joined) for span, seconds in SPANS.items()}
    assert chosen == {
        "15m": (1, 1),
        "1h": (10, 1),
        "6h": (10, 1),
        "24h": (60, 1),
        "7d": (600, 1),
        "30d": (600, 2),
        "1y": (600, 24),
    }


@pytest.mark.parametrize("step", STEPS)
def test_chunks_follow_each_other(step: object) -> None:
    begin = STEPS[0].chunk_of(1_800_000_123.9)
    assert begin % STEPS[0].chunk_s == 0
    assert begin <= 1_800_000_123.9 < begin + STEPS[0].chunk_s
