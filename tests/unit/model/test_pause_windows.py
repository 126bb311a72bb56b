"""Times of the week at which a snapshot reads no rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import ConfigError
from replicator.model.pause_windows import DAYS, PauseWindows, shown


def at(text: str) -> float:
    """2026-11-23 is a Monday."""
    return datetime.fromisoformat(f"2026-11-{text}").replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("windows", "now", "end"),
    [
        (["08:00-18:00"], "23T07:59:59", None),
        (["08:00-18:00"], "23T08:00", "23T18:00"),
        (["08:00-18:00"], "29T17:59:59", "29T18:00"),
        (["08:00-18:00"], "29T18:00", None),
        (["22:00-06:00"], "23T23:30", "24T06:00"),
        (["22:00-06:00"], "23T05:00", "23T06:00"),
        (["Mon-Fri 08:00-18:00"], "28T12:00", None),
        (["Mon-Fri 08:00-18:00"], "27T12:00", "27T18:00"),
        (["Sat-Mon 00:00-24:00"], "28T00:00", "31T00:00"),
        (["Sun 23:00-01:00"], "30T00:30", "30T01:00"),
        (["08:00-12:00", "12:00-14:00", "13:00-15:00"], "23T09:00", "23T15:00"),
        ([], "23T09:00", None),
    ],
)
def test_the_end_of_a_window(windows: list[str], now: str, end: str | None) -> None:
    expected = None if end is None else at("30") + 86_400 if end.startswith("31") else at(end)
    assert PauseWindows(windows).end(at(now)) == expected


@pytest.mark.parametrize(
    "text", ["", "8:00-18:00", "08:00-25:00", "24:00-06:00", "08:00", "mon 08:00-09:00", "08:00-08:00"]
)
def test_what_is_not_one(text: str) -> None:
    with pytest.raises(ConfigError, match="E1003"):
        PauseWindows([text])


def test_some_time_has_to_be_left() -> None:
    with pytest.raises(ConfigError, match="the whole week"):
        PauseWindows(["00:00-12:00", "12:00-24:00"])
    PauseWindows(["00:00-12:00", "12:01-24:00"])


days = st.one_of(
    st.just(""), st.sampled_from(DAYS), st.tuples(st.sampled_from(DAYS), st.sampled_from(DAYS)).map("-".join)
)
minutes = st.integers(0, 1439)


@given(st.lists(st.tuples(days, minutes, minutes), max_size=4), st.integers(0, 10_079))
def test_each_minute_is_in_a_window_or_in_none(given_: list[tuple[str, int, int]], now: int) -> None:
    texts = [f"{day} {_clock(one)}-{_clock(other)}".strip() for day, one, other in given_ if one != other]
    try:
        windows = PauseWindows(texts)
    except ConfigError as error:
        assert "whole week" in error.what
        return
    left = windows.minutes_left(now)
    kept = [each for each in given_ if each[1] != each[2]]
    assert not any(_inside(each, now + left) for each in kept)
    assert all(any(_inside(each, now + more) for each in kept) for more in range(left))


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _inside(window: tuple[str, int, int], minute: int) -> bool:
    """By days alone: of the day itself, or of the one before it."""
    day, begin, end = window
    first, _, last = day.partition("-")
    number = minute // 1440 % 7
    of_day = minute % 1440

    def chosen(which: int) -> bool:
        if not day:
            return True
        start, stop = DAYS.index(first), DAYS.index(last or first)
        return (which - start) % 7 <= (stop - start) % 7

    if begin < end:
        return chosen(number) and begin <= of_day < end
    return (chosen(number) and of_day >= begin) or (chosen((number - 1) % 7) and of_day < end)


def test_how_an_end_is_shown() -> None:
    assert shown(at("23T18:00"), at("23T09:00")) == "18:00 UTC"
    assert shown(at("27T06:05"), at("23T09:00")) == "Fri 06:05 UTC"
