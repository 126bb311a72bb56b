"""Durations as rules and routes have them: `90s`, `5m`, `1h30m`, `1d`."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
_FORM: Final = re.compile(r"(?:(\d{1,5})d)?(?:(\d{1,5})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?")
WANTED: Final = "a duration such as 30s, 5m, 1h30m or 1d"


def seconds(text: object) -> int:
    """Raises ValueError for anything else; 0 is a duration."""
    if text == 0 and not isinstance(text, bool):
        return 0
    match = _FORM.fullmatch(text) if isinstance(text, str) and text else None
    if match is None:
        raise ValueError(WANTED)
    return sum(int(number) * unit for number, unit in zip(match.groups("0"), _UNITS.values(), strict=True))


def written(value: int) -> str:
    """`5m` of 300; the inverse of `seconds`."""
    parts = []
    for unit, length in _UNITS.items():
        if value >= length:
            parts.append(f"{value // length}{unit}")
            value %= length
    return "".join(parts) or "0s"


def spoken(value: float) -> str:
    """For sentences: `12 s`, `5 min`, `3 h 20 min`, `2 d 4 h`."""
    whole = int(abs(value))
    sign = "-" if value <= -1 else ""
    if whole < 10:
        return f"{value:.1f} s".replace(".0 s", " s")
    if whole < 120:
        return f"{sign}{whole} s"
    if whole < 7200:
        return f"{sign}{whole // 60} min"
    if whole < 172_800:
        return f"{sign}{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 >= 60 else "")
    return f"{sign}{whole // 86_400} d" + (f" {whole % 86_400 // 3600} h" if whole % 86_400 >= 3600 else "")
