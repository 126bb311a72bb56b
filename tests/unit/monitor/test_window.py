"""Windows of time: from addresses, zoomed and moved; the ticks below them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.formatting import iso
from monitor.task_pages.window import (
    LONGEST_MS,
    SHORTEST_MS,
    Window,
    fitted,
    moved,
    ticks,
    window,
    zoomed,
)
from replicator.errors import ProcessError

NOW = 1_795_000_000_000
DAY = 86_400_000
times = st.integers(0, NOW)
windows = st.builds(lambda one, other: fitted(min(one, other), max(one, other) + 1, NOW), times, times)


def test_addresses() -> None:
    assert window({}, NOW) == Window(NOW - DAY, NOW, "24h")
    assert window({"span": "1h"}, NOW) == Window(NOW - 3_600_000, NOW, "1h")
    texts = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T02:00:00+02:00"}
    assert window(texts, NOW) == Window(1_767_225_600_000, 1_767_225_600_000 + DAY)
    assert window({"from": "2026-01-01", "to": "2026-01-02"}, NOW) == window(texts, NOW), "without a zone: UTC"
    assert window({"to": str(NOW - DAY)}, NOW) == Window(NOW - 2 * DAY, NOW - DAY)
    with pytest.raises(ProcessError, match="E5145"):
        window({"from": "5", "to": "5"}, NOW)


@given(windows)
def test_an_address_is_read_as_it_was_written(shown: Window) -> None:
    assert window({"from": iso(shown.from_ms), "to": iso(shown.to_ms)}, NOW) == shown


@given(windows, st.floats(0.01, 100), st.floats(0, 1))
def test_a_zoomed_window_is_within_its_bounds(shown: Window, factor: float, at: float) -> None:
    after = zoomed(shown, factor, NOW, at)
    assert SHORTEST_MS <= after.width_ms <= LONGEST_MS
    assert after.from_ms >= 0 and after.to_ms <= NOW


@given(windows, st.floats(0, 1))
def test_what_is_pointed_at_stays(shown: Window, at: float) -> None:
    after = zoomed(shown, 0.5, NOW, at)
    if shown.width_ms >= SHORTEST_MS * 2:
        pointed = shown.from_ms + shown.width_ms * at
        assert abs(after.from_ms + after.width_ms * at - pointed) <= 3


@given(windows, st.floats(-3, 3))
def test_a_moved_window_keeps_its_width(shown: Window, share: float) -> None:
    after = moved(shown, share, NOW)
    assert after.width_ms == shown.width_ms and after.to_ms <= NOW
    if share < 0:
        assert after.from_ms <= shown.from_ms


@given(windows)
def test_ticks_are_few_in_order_and_within(shown: Window) -> None:
    found = ticks(shown)
    assert 1 <= len(found) <= 8
    assert all(shown.from_ms <= tick.time_ms <= shown.to_ms and tick.label for tick in found)
    assert list(found) == sorted(found, key=lambda tick: tick.time_ms)


def test_labels() -> None:
    midnight = 1_767_225_600_000
    day = ticks(Window(midnight - DAY // 2, midnight + DAY // 2))
    assert [tick.label for tick in day][:4] == ["12:00", "18:00", "Jan 01", "06:00"]
    assert ticks(Window(midnight + 1000, midnight + 5000))[0].label == "00:00:01"
