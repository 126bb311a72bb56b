"""Formats numbers and times for people, for the templates. The script in static/ has the same rule for times, so that
they continue to count between two messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from markupsafe import Markup

SPARK_WIDTH, SPARK_HEIGHT = 59, 20


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 0:
        return "0 s"
    if 0 < seconds < 1:
        return f"{max(seconds, 0.1):.1f} s"
    whole = int(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min"
    if whole < 172800:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def lag(seconds: float | None, *, at_most: bool = False) -> str:
    """Lag below a tenth of a second is noise of two clocks."""
    if seconds is None:
        return "unknown"
    return "< 0.1 s" if seconds < 0.1 else f"{'≤ ' if at_most else ''}{duration(seconds)}"


def count(number: float) -> str:
    """With thin spaces between thousands; short above a million: `12 345`, `3.2 M`."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    if 0 < number < 10:
        return f"{number:.1f}".removesuffix(".0")
    return f"{number:,.0f}".replace(",", "\u202f")


def size(number: float) -> str:
    """Bytes: `412 MB`, `1.5 GB` (powers of 1000)."""
    for limit, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= limit:
            scaled = number / limit
            return f"{scaled:.1f} {unit}" if scaled < 10 else f"{scaled:.0f} {unit}"
    return f"{number:.0f} B"


def stamp(ms: int) -> str:
    """`2026-11-21 09:40:12 UTC`."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "unknown time"


def clock(ms: int, now_ms: int) -> str:
    """`14:02:12 UTC`, of another day `25 Nov 14:02 UTC`."""
    try:
        then, now = datetime.fromtimestamp(ms / 1000, UTC), datetime.fromtimestamp(now_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return "unknown time"
    return then.strftime("%H:%M:%S UTC" if then.date() == now.date() else "%-d %b %H:%M UTC")


def iso(ms: int) -> str:
    """`2026-11-21T09:40:12Z`, with milliseconds where there are some; for addresses."""
    try:
        text = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return "0"
    return f"{text.partition('+')[0].removesuffix('.000')}Z"


def ago(ms: int, now_ms: int) -> Markup:
    """A <time> that the script keeps counting; its title is the full time with its zone."""
    if not ms:
        return Markup('<span class="none">never</span>')
    text = duration((now_ms - ms) / 1000)
    return Markup('<time data-ms="{}" title="{}">{}</time>').format(ms, stamp(ms), text)


_TIME = re.compile(r'(<time data-ms="(\d+)" title="[^"]*">)[^<]*(</time>)')


def counted_on(html: str, now_ms: int) -> str:
    """With the times of `ago` as of now."""

    def counted(found: re.Match[str]) -> str:
        return f"{found[1]}{duration((now_ms - int(found[2])) / 1000)}{found[3]}"

    return _TIME.sub(counted, html)


def address(text: str) -> Markup:
    """`kafka k1.internal:9092` for one line: where it is too narrow, the middle is cut, not the type or the port."""
    kind, blank, place = text.partition(" ")
    head, colon, port = place.rpartition(":")
    if not colon:
        head, port = place, ""
    parts = (("kept", kind + blank), ("cut", head), ("kept", colon + port))
    return Markup("").join(Markup('<span class="{}">{}</span>').format(name, part) for name, part in parts if part)


def task_page(task: str) -> str:
    """The address of its page."""
    return f"/tasks/{quote(task, safe='')}"


def machine_page(host: str) -> str:
    """The address of its page."""
    return f"/machines/{quote(host, safe='')}"


def percent(share: float | None) -> str:
    """`8 %`, `99.97 %`: rounded down where it is nearly all, as an outage must not be rounded away."""
    if share is None:
        return "–"
    if share >= 1:
        return "100 %"
    if share > 0.99:
        return f"{int(share * 1e5) / 1e3:.3f}".rstrip("0").rstrip(".") + " %"
    return f"{100 * share:.0f} %"


def search(query: str, sort: str = "") -> str:
    """The address of the tasks that the filter's `query` shows, in the order of `sort`."""
    asked = {name: value for name, value in (("q", query), ("sort", sort)) if value}
    return f"/?{urlencode(asked)}" if asked else "/"


def spark(points: Sequence[float]) -> Markup:
    """Rows/s of the last 15 min as a line over its area; the newest at the right edge, the top is the maximum."""
    path = spark_path(points)
    if not path:
        return Markup("")
    return Markup('<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}"><path d="{}"/></svg>').format(
        SPARK_WIDTH, SPARK_HEIGHT, f"rows/s of the last 15 min, at most {count(max(points))}", path
    )


def spark_path(points: Sequence[float]) -> str:
    """The line of `spark`, with a base line below its box; "" where there is none to draw."""
    top = max(points, default=0.0)
    if len(points) < 2 or not top:
        return ""
    left = SPARK_WIDTH - len(points) + 1
    heights = [round(SPARK_HEIGHT - 1 - point / top * (SPARK_HEIGHT - 3)) for point in points]
    line = " ".join(f"{left + index} {height}" for index, height in enumerate(heights))
    return f"M{left} {SPARK_HEIGHT + 2}L{line} {SPARK_WIDTH} {SPARK_HEIGHT + 2}Z"
