"""The window of time that a timeline shows: from an address, moved and zoomed, and the ticks below it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from monitor.history.steps import SPANS
from replicator.errors import ProcessError

SHORTEST_MS: Final = 2_000
LONGEST_MS: Final = 366 * 86_400_000
DEFAULT_SPAN: Final = "24h"
_MOST_TICKS: Final = 7
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_STEPS: Final = (
    *(500, _SECOND, 2 * _SECOND, 5 * _SECOND, 10 * _SECOND, 30 * _SECOND),
    *(_MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 5 * _DAY, 10 * _DAY, 30 * _DAY, 60 * _DAY, 120 * _DAY),
)


class Window(NamedTuple):
    """span: a key of `SPANS`: it ends now, and moves on; "": it was chosen, and stays."""

    from_ms: int
    to_ms: int
    span: str = ""

    @property
    def width_ms(self) -> int:
        return self.to_ms - self.from_ms


class Tick(NamedTuple):
    time_ms: int
    label: str


def window(query: Mapping[str, str], now_ms: int) -> Window:
    """Of `from` and `to`, times as 2026-11-26T19:00:00Z or in ms since the epoch, or of `span`.

    Raises ProcessError: E5132, no such span; E5145, no such times.
    """
    if "from" in query or "to" in query:
        to_ms = _moment(query["to"], "to") if "to" in query else now_ms
        from_ms = _moment(query["from"], "from") if "from" in query else to_ms - SPANS[DEFAULT_SPAN] * 1000
        if from_ms >= to_ms:
            raise _not_a_window(f"from={query.get('from', '')[:40]}&to={query.get('to', '')[:40]}")
        return fitted(from_ms, to_ms, now_ms)
    span = query.get("span", DEFAULT_SPAN)
    if span not in SPANS:
        raise ProcessError("E5132", f"there is no timeline of '{span[:20]}'", found=span[:20], wanted=", ".join(SPANS))
    return Window(now_ms - SPANS[span] * 1000, now_ms, span)


def fitted(from_ms: int, to_ms: int, now_ms: int) -> Window:
    """Neither too short nor too long, around the same middle, and not in the future."""
    width = min(max(to_ms - from_ms, SHORTEST_MS), LONGEST_MS)
    begin = from_ms + (to_ms - from_ms - width) // 2
    begin = max(min(begin, now_ms - width), 0)
    return Window(begin, begin + width)


def zoomed(shown: Window, factor: float, now_ms: int, at: float = 0.5) -> Window:
    """`factor`: of the width, below 1 to see less; `at`: 0 to 1, what stays where it is."""
    width = min(max(round(shown.width_ms * factor), SHORTEST_MS), LONGEST_MS)
    begin = round(shown.from_ms + (shown.width_ms - width) * at)
    return fitted(begin, begin + width, now_ms)


def moved(shown: Window, share: float, now_ms: int) -> Window:
    """`share`: of the width; below 0: to earlier times."""
    by = round(shown.width_ms * share)
    return fitted(shown.from_ms + by, shown.to_ms + by, now_ms)


def ticks(shown: Window) -> tuple[Tick, ...]:
    """At most 8, at round times (UTC)."""
    step = next((one for one in _STEPS if shown.width_ms / one <= _MOST_TICKS), _STEPS[-1])
    first = -(-shown.from_ms // step) * step
    return tuple(Tick(time_ms, _label(time_ms, step)) for time_ms in range(first, shown.to_ms + 1, step))


def _label(time_ms: int, step: int) -> str:
    time = datetime.fromtimestamp(time_ms / 1000, UTC)
    if step >= _DAY or time_ms % _DAY == 0:
        return time.strftime("%b %d")
    if step < _SECOND:
        return time.strftime("%H:%M:%S.") + str(time_ms % _SECOND // 100)
    return time.strftime("%H:%M:%S" if step < _MINUTE else "%H:%M")


def _moment(text: str, name: str) -> int:
    try:
        if text.isascii() and text.isdigit() and len(text) < 15:
            return int(text)
        time = datetime.fromisoformat(text)
        found = round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise _not_a_window(f"{name}={text[:40]}") from None
    if found < 0:
        raise _not_a_window(f"{name}={text[:40]}")
    return found


def _not_a_window(found: str) -> ProcessError:
    return ProcessError(
        "E5145",
        "the times of the timeline are not understood",
        found=found,
        wanted="from before to, each as 2026-11-26T19:00:00Z or in ms since the epoch",
    )
