"""The audit as CSV, and the filter that its page has in its address. Pure."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

OUTCOMES: Final = ("done", "failed", "refused", "replayed", "unknown")
COLUMNS: Final = (
    "time", "by", "role", "says", "address", "server", "operation", "task", "target", "outcome", "status", "code",
    "reason", "arguments", "changes", "request", "suppressed", "number",
)  # fmt: skip
_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"(\d{1,6})\s*([mhdw])")
_FORMULA: Final = re.compile(r"\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20|%]")


class Filter(msgspec.Struct, frozen=True):
    """As it is in the address. since, until: a time, or how long ago, such as 24h."""

    by: str = ""
    task: str = ""
    operation: str = ""
    outcome: str = ""
    since: str = ""
    until: str = ""


def filter_of(query: Mapping[str, str]) -> Filter:
    return Filter(**{name: query.get(name, "").strip()[:200] for name in Filter.__struct_fields__})


def params_of(wanted: Filter, now_ms: int) -> dict[str, str]:
    """For the API. Raises ValueError with what is wrong."""
    if wanted.outcome and wanted.outcome not in OUTCOMES:
        raise ValueError(f"'{wanted.outcome[:20]}' is not a result: {', '.join(OUTCOMES)}")
    given = {name: getattr(wanted, name) for name in ("by", "task", "operation", "outcome")}
    given |= {f"{name}_ms": str(moment(text, now_ms)) for name in ("since", "until") if (text := getattr(wanted, name))}
    return {name: text for name, text in given.items() if text}


def moment(text: str, now_ms: int) -> int:
    """ms since the epoch of `24h` ago, or of a date with or without a time, UTC unless it has a zone. Raises
    ValueError."""
    ago = _DURATION.fullmatch(text.lower())
    if ago is not None:
        return max(0, now_ms - int(ago[1]) * _UNITS[ago[2]] * 1000)
    try:
        found = datetime.fromisoformat(text.removesuffix(" UTC"))
        at = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        at = -1
    if at < 0:
        raise ValueError(f"'{text[:40]}' is not a time: give 24h, 7d, or 2026-11-20 03:00 (UTC)")
    return at


def as_csv(items: Iterable[Mapping[str, Any]]) -> str:
    """With a line of names. Spreadsheets run text that begins like a formula: it gets an apostrophe in front."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for item in items:
        writer.writerow([_cell(item, column) for column in COLUMNS])
    return text.getvalue()


def _cell(item: Mapping[str, Any], column: str) -> str:
    if column == "time":
        return datetime.fromtimestamp(int(item.get("time_ms", 0)) / 1000, UTC).isoformat(timespec="milliseconds")
    value = item.get(column, "")
    if isinstance(value, int):
        return str(value)
    plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""
    return f"'{plain}" if _FORMULA.match(plain) else plain
