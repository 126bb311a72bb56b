"""Numbers and times as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor import formatting


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0 s"), (0, "0 s"), (0.04, "0.1 s"), (0.42, "0.4 s"), (119.9, "119 s"), (120, "2 min"), (7199, "119 min"),
     (7200, "2 h 0 min"), (172800, "2 d 0 h"), (400_000, "4 d 15 h")],
)  # fmt: skip
def test_duration(seconds: float, text: str) -> None:
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (0.26, "0.3"), (3.0, "3"), (12345, "12\u202f345"), (3_210_000, "3.2 M")],
)
def test_count(number: float, text: str) -> None:
    assert formatting.count(number) == text


def test_lag_below_the_noise() -> None:
    assert formatting.lag(0.02) == "< 0.1 s"
    assert formatting.lag(None) == "unknown"
    assert formatting.lag(45.0, at_most=True) == "≤ 45 s"


def test_size() -> None:
    assert [formatting.size(n) for n in (12, 4200, 412e6, 1.5e9)] == ["12 B", "4.2 kB", "412 MB", "1.5 GB"]


def test_ago_has_the_full_time_with_its_zone() -> None:
    html = formatting.ago(1_795_250_000_000, 1_795_250_065_000)
    assert 'data-ms="1795250000000"' in html
    assert "2026-11-21" in html and "UTC" in html and ">65 s<" in html
    assert "never" in formatting.ago(0, 1)


def test_stamp_of_nonsense() -> None:
    assert formatting.stamp(10**18) == "unknown time"


@given(st.lists(st.floats(0, 1e9), max_size=60))
def test_spark_stays_in_its_box(points: list[float]) -> None:
    html = str(formatting.spark(points))
    if len(points) < 2 or not max(points):
        assert html == ""
        return
    line = html.split(' d="M')[1].split("L")[1].removesuffix('Z"/></svg>')
    numbers = [int(number) for number in line.split()]
    xs, ys = numbers[0:-2:2], numbers[1:-2:2]
    assert len(xs) == len(points) and xs[-1] == formatting.SPARK_WIDTH and xs == sorted(xs) and xs[0] >= 0
    assert all(0 <= y <= formatting.SPARK_HEIGHT for y in ys)
