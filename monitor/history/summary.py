"""A chart in figures: for people who read no charts, and for browsers without JavaScript."""

from __future__ import annotations

import msgspec

from monitor import formatting
from monitor.history.history import Chart
from monitor.history.series import SERIES, Series


class Summary(msgspec.Struct, frozen=True):
    """last, mean, least, most: as text, "–" where nothing is known."""

    name: str
    label: str
    last: str
    mean: str
    least: str
    most: str


def summaries(chart: Chart) -> tuple[Summary, ...]:
    return tuple(_summary(series, chart.series[series.name]) for series in SERIES)


def _summary(series: Series, values: list[float | None]) -> Summary:
    known = [value for value in values if value is not None]
    if not known:
        return Summary(series.name, series.label, "–", "–", "–", "–")
    last = next((value for value in reversed(values[-3:]) if value is not None), None)
    mean = sum(known) / len(known)
    shown = [_text(series, value) for value in (last, mean, min(known), max(known))]
    return Summary(series.name, series.label, *shown)


def _text(series: Series, value: float | None) -> str:
    if value is None:
        return "–"
    if series.unit == "s":
        return formatting.lag(value)
    if series.unit == "B/s":
        return f"{formatting.size(value)}/s"
    if series.unit == "1/s":
        return f"{formatting.count(value)}/s"
    return f"{100 * value:.1f} %".replace(".0 %", " %")
