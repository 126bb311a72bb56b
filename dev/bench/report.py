"""Writes the results: build/bench.json for machines, a table for people."""

from __future__ import annotations

import json
import statistics
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec

OUTPUT = Path("build/bench.json")


class Entry(msgspec.Struct, frozen=True):
    """One figure. value: the figure; null where there is none, and `reason` says why. ours, baseline: medians of `runs`
    runs, or a percentile of as many samples; ratio: ours / baseline; samples: every run, in order."""

    name: str
    unit: str
    value: float | None
    ours: float | None = None
    baseline: float | None = None
    ratio: float | None = None
    runs: int = 0
    samples: dict[str, list[float]] = {}
    reason: str = ""


def figure(name: str, unit: str, samples: Sequence[float], digits: int = 1) -> Entry:
    """The median of what was measured."""
    middle = round(statistics.median(samples), digits)
    return Entry(
        name, unit, middle, ours=middle, runs=len(samples), samples={"ours": [round(each, digits) for each in samples]}
    )


def percentile(samples: Sequence[float], share: float) -> float:
    """Nearest rank: the smallest sample that is not below `share` of all."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def part(name: str, unit: str, samples: Sequence[float], share: float, digits: int = 1) -> Entry:
    """A percentile of many samples, which are not kept. share: 0.0 to 1.0."""
    value = round(percentile(samples, share), digits)
    return Entry(name, unit, value, ours=value, runs=len(samples))


def ratio(name: str, unit: str, ours: Sequence[float], baseline: Sequence[float], value: str = "ratio") -> Entry:
    """Ours against another's. value: "ratio", or "ours" where the ratio stands under another name."""
    middle, other = statistics.median(ours), statistics.median(baseline)
    samples = {"ours": [round(each, 1) for each in ours], "baseline": [round(each, 1) for each in baseline]}
    found = round(middle / other, 4 if middle < other else 2)
    chosen = found if value == "ratio" else round(middle, 1)
    return Entry(name, unit, chosen, round(middle, 1), round(other, 1), found, len(ours), samples)


def absent(name: str, unit: str, reason: str) -> Entry:
    return Entry(name, unit, None, reason=reason)


def fact(name: str, text: str) -> Entry:
    """Of the machine or of the run; no figure."""
    return Entry(name, "text", None, reason=text)


def read(path: Path = OUTPUT) -> dict[str, Entry]:
    """Entries by name; entries of before `value` are left out."""
    if not path.exists():
        return {}
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return {each["name"]: msgspec.convert(each, Entry) for each in found if "value" in each}


def write(entries: Sequence[Entry], path: Path = OUTPUT, outdated: Collection[str] = ()) -> None:
    """Replaces entries of the same names and keeps the others, so that single figures can be measured again. A figure
    that is there is not replaced by the reason for having none this time. outdated: names that go."""
    kept = {name: each for name, each in read(path).items() if name not in outdated}
    for each in entries:
        old = kept.get(each.name)
        if each.value is None and each.unit != "text" and old is not None and old.value is not None:
            continue
        kept[each.name] = each
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(msgspec.to_builtins(list(kept.values())), indent=1) + "\n")
    draft.replace(path)


def table(entries: Sequence[Entry]) -> str:
    lines = [f"{'':<42}{'unit':<10}{'value':>12}{'ours':>12}{'baseline':>12}  samples of ours"]
    for one in entries:
        cells = "".join(f"{_number(each):>12}" for each in (one.value, one.ours, one.baseline))
        runs = one.reason or " ".join(_number(value) for value in one.samples.get("ours", ())[:5])
        lines.append(f"{one.name:<42}{one.unit:<10}{cells}  {runs}")
    return "\n".join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
