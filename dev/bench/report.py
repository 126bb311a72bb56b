"""What is written down: build/bench.json for machines, a table for people."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec


class Entry(msgspec.Struct, frozen=True):
    """One figure. ours, baseline: medians of `runs` runs; ratio: ours / baseline; samples: every run, in order."""

    name: str
    unit: str
    ours: float
    baseline: float
    ratio: float
    runs: int
    samples: dict[str, list[float]]


def entry(name: str, unit: str, ours: Sequence[float], baseline: Sequence[float]) -> Entry:
    middle, plain = statistics.median(ours), statistics.median(baseline)
    samples = {"ours": [round(value, 1) for value in ours], "baseline": [round(value, 1) for value in baseline]}
    return Entry(name, unit, round(middle, 1), round(plain, 1), round(middle / plain, 2), len(ours), samples)


def write(entries: Sequence[Entry], path: Path) -> None:
    """Replaces entries of the same names and keeps the others, so that single figures can be measured again."""
    kept: list[object] = []
    if path.exists():
        names = {one.name for one in entries}
        kept = [old for old in json.loads(path.read_text()) if old["name"] not in names]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([*kept, *msgspec.to_builtins(entries)], indent=2) + "\n")


def table(entries: Sequence[Entry]) -> str:
    lines = [f"{'':<18}{'unit':<8}{'ours':>12}{'plain':>12}{'ratio':>8}   runs (ours | plain)"]
    for one in entries:
        runs = " | ".join(" ".join(f"{value:,.0f}" for value in one.samples[who]) for who in ("ours", "baseline"))
        lines.append(f"{one.name:<18}{one.unit:<8}{one.ours:>12,.0f}{one.baseline:>12,.0f}{one.ratio:>7.2f}x   {runs}")
    return "\n".join(lines)
