"""Formats tasks as text: states, ages, rates, and rows of the table."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from replicator.cli import jsonpath
from replicator.cli.terminal import cells, clean, fitting, table, width
from replicator.config import endpoints

Item = dict[str, Any]
_COLOURS = {"running": "green", "failed": "red", "absent": "red", "unconfigured": "yellow"}

_UNFINISHED = {"running": "", "paused": ", paused"}


_SOURCE_LOCKED: Final = "E5160"


def state(item: Item) -> str:
    """The state in a word, behind what operators want where that is not reached yet (`paused wanted, draining`), and
    the code of what went wrong."""
    now, desired = item["state"], item["desired"]
    if item["config"] is None and now == "absent" and desired == "running":
        return "unconfigured"
    stands = now in ("failed", "unconfigured")
    codes = [problem.get("code", "") for problem in item["problems"]]
    code = codes[0] if stands and codes else _SOURCE_LOCKED if now == "paused" and _SOURCE_LOCKED in codes else ""
    wanted = f"{desired} wanted, " if desired in ("paused", "deleted") and now != desired else ""
    told = f"{wanted}{now}{_retrying(item) if not stands else ''}"
    return " ".join(word for word in (told, code, *_beside(item)) if word)


def _retrying(item: Item) -> str:
    """`, retrying E2001 for 35s`"""
    retried = item.get("retrying")
    if not retried:
        return ""
    code = f" {retried['code']}" if retried["code"] else ""
    return f", retrying{code} for {duration(retried['seconds'])}"


def _beside(item: Item) -> list[str]:
    taken = item.get("snapshot") or {}
    return [
        *([f"(no report for {duration(item['figures_age_s'])})"] if item.get("figures_old") else []),
        *(["(maintenance)"] if item.get("maintenance") else []),
        *(["(address refused)"] if any(one["error"] for one in item.get("addresses") or ()) else []),
        *(
            [f"(snapshot {taken['percent']} %{_UNFINISHED[taken['state']]})"]
            if taken.get("state") in _UNFINISHED
            else []
        ),
    ]


def coloured(text: str) -> str:
    """Red where a task has failed, also one that is to be paused."""
    actual = text.partition(" wanted, ")[2]
    colour = _COLOURS.get(text.partition(" ")[0], "yellow") if not actual else "red" if "failed" in actual else "yellow"
    return click.style(text, fg=colour)


def duration(seconds: float) -> str:
    """`0.4s`, `12s`, `5m`, `3h`, `2d`."""
    seconds = max(0.0, seconds)
    if seconds < 10:
        return f"{seconds:.1f}s"
    for unit, size, limit in (("s", 1, 120), ("m", 60, 7200), ("h", 3600, 172_800)):
        if seconds < limit:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds / 86400:.0f}d"


def age(time_ms: int) -> str:
    return duration(time.time() - time_ms / 1000) if time_ms else "-"


def moving(item: Item) -> bool:
    """The rate of a task that stands still is old, whatever its number."""
    return item["state"] in ("running", "draining") and not item.get("figures_old")


def lag(item: Item) -> str:
    """`0.4s`; `<= 45s` where it is an upper bound; `unknown`; `-` for a task that does nothing yet."""
    if item["lag_s"] is not None:
        return f"{'<= ' if item.get('lag_at_most') else ''}{duration(item['lag_s'])}"
    return "-" if item["state"] in ("absent", "unconfigured") else "unknown"


def size(value: float) -> str:
    """Bytes with a decimal unit."""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def rate(value: float | None) -> str:
    if value is None:
        return "-"
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= 10 * size:
            return f"{value / size:.0f}{unit}"
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def moment(time_ms: int) -> str:
    """Local time with its zone, for people."""
    return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(time_ms / 1000)) if time_ms else "-"


def labels(item: Item) -> str:
    """`env=prod,team=shop`, as a selector reads it."""
    return clean(",".join(f"{key}={value}" for key, value in sorted((item.get("labels") or {}).items())))


COLUMNS: dict[str, Callable[[Item], str]] = {
    "NAME": lambda item: clean(item["name"]),
    "STATE": lambda item: coloured(clean(state(item))),
    "HOST": lambda item: clean(item["host"]) or "-",
    "STANDBYS": lambda item: str(len(item["standbys"])),
    "LAG": lambda item: lag(item),
    "ROWS/S": lambda item: rate(item["rows_per_s"] if moving(item) else None),
    "DESTINATION": lambda item: destination(item),
}
WIDE: dict[str, Callable[[Item], str]] = {
    **COLUMNS,
    "STANDBYS": lambda item: clean(",".join(item["standbys"])) or "-",
    "SOURCE": lambda item: clean(endpoints.source(item["config"])) or "-",
    "POSITION": lambda item: clean(item["position"]) or "-",
    "CHECKPOINT AGE": lambda item: age(item["checkpoint_ms"]),
    "EPOCH": lambda item: str(item["epoch"] or "-"),
    "ROWS": lambda item: str(item["rows"]),
    "VERSION": lambda item: str(item["version"]),
    "LABELS": lambda item: labels(item) or "-",
    "GTID": lambda item: clean(item["gtid"]) or "-",
    "PROBLEM": lambda item: clean(item["problems"][0]["what"]) if item["problems"] else "-",
}
IMPORTANCE = ("NAME", "STATE", "HOST", "LAG", "ROWS/S", "DESTINATION", "STANDBYS")
_NARROWEST = 24
"""Columns of the terminal below which a destination says too little to be shown."""


def destination(item: Item, limit: int | None = None) -> str:
    return clean(endpoints.destination(item["config"], limit)) or "-"


def tasks_table(items: Sequence[Item], output: str, heading: bool) -> str:
    """In a terminal destinations are shortened, and the least important columns left out, until a row fits; in a pipe
    nothing is cut."""
    columns = WIDE if output in ("wide", "tsv") else COLUMNS
    header = list(columns)
    rows = [[cell(item) for cell in columns.values()] for item in items]
    if output == "tsv":
        return tab_separated(header, rows, heading=heading)
    limit = width() if output == "table" else None
    if limit is None:
        return table(header, rows, heading=heading)
    last = header.index("DESTINATION")
    narrow = [[*row[:last], destination(item, _NARROWEST)] for row, item in zip(rows, items, strict=True)]
    kept = fitting(header, narrow, IMPORTANCE, limit)
    if last in kept:
        others = sum(max(cells(row[i]) for row in [header, *rows]) + 2 for i in kept if i != last)
        rows = [[*row[:last], destination(item, limit - others)] for row, item in zip(rows, items, strict=True)]
    return table([header[i] for i in kept], [[row[i] for i in kept] for row in rows], heading=heading)


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def as_yaml(value: Any) -> str:
    import yaml  # here: it is a tenth of the start of every command

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


def is_structured(output: str) -> bool:
    return output in ("json", "yaml") or output.startswith(jsonpath.PREFIX)


def structured(value: Any, output: str) -> str:
    """`output`: json, yaml or jsonpath=PATH."""
    if output.startswith(jsonpath.PREFIX):
        return jsonpath.extracted(value, output)
    return as_json(value) if output == "json" else as_yaml(value)


def tab_separated(header: Sequence[str], rows: Sequence[Sequence[str]], *, heading: bool) -> str:
    """Without colours; a tab inside a cell is escaped already, as all control characters are."""
    lines = [header, *rows] if heading else rows
    return "".join("\t".join(map(click.unstyle, line)) + "\n" for line in lines)
