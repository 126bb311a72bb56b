"""A chart in figures: for people who read no charts, and for browsers without JavaScript."""

from __future__ import annotations

from math import isnan, nan
from typing import Final

import msgspec

from monitor import formatting
from monitor.history.chunk import reduced
from monitor.history.history import Chart
from monitor.history.series import Series, series_of


class Summary(msgspec.Struct, frozen=True):
    """last, mean, least, most: as text, "–" where nothing is known."""

    name: str
    label: str
    last: str
    mean: str
    least: str
    most: str


class Figures(msgspec.Struct, frozen=True):
    """The points of a chart in a few rows. heads: labels of the series; rows: the newest first."""

    heads: tuple[str, ...]
    rows: tuple[FigureRow, ...]


class FigureRow(msgspec.Struct, frozen=True):
    """from_ms to to_ms: the time; values: as text."""

    from_ms: int
    to_ms: int
    values: tuple[str, ...]


ROWS: Final = 12


def figures(chart: Chart) -> Figures:
    """Each row is what its series keep of a time: the highest lag, the mean rate."""
    series = series_of(chart.key)
    columns = [[nan if value is None else value for value in chart.series[one.name]] for one in series]
    points = len(columns[0])
    width = max(-(-points // ROWS), 1)
    rows = []
    for first in range(0, points, width):
        last = min(first + width, points)
        values = [reduced(one, column[first:last]) for one, column in zip(series, columns, strict=True)]
        shown = tuple(_text(one, None if isnan(value) else value) for one, value in zip(series, values, strict=True))
        begin, end = (1000 * (chart.begin_s + at * chart.step_s) for at in (first, last))
        rows.append(FigureRow(begin, end, shown))
    return Figures(tuple(one.label for one in series), tuple(reversed(rows)))


def summaries(chart: Chart) -> tuple[Summary, ...]:
    return tuple(_summary(series, chart.series[series.name]) for series in series_of(chart.key))


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
    if series.unit == "B":
        return formatting.size(value)
    if series.unit == "n":
        return f"{value:.2f}"
    if series.unit == "B/s":
        return f"{formatting.size(value)}/s"
    if series.unit == "1/s":
        return f"{formatting.count(value)}/s"
    return f"{100 * value:.1f} %".replace(".0 %", " %")
