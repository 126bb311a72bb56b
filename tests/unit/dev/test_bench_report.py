"""The bench's figures: medians, ratio, and a file that keeps what it did not measure again."""

from __future__ import annotations

import json
from pathlib import Path

from dev.bench.job import Outcome, peak_mb
from dev.bench.report import entry, table, write


def test_medians_and_ratio() -> None:
    one = entry("rows_tx1", "rows/s", [60_000, 10_000, 62_000], [2000, 1900, 2100])
    assert (one.ours, one.baseline, one.ratio, one.runs) == (60_000, 2000, 30.0, 3)


def test_file_has_the_agreed_keys_and_keeps_other_entries(tmp_path: Path) -> None:
    path = tmp_path / "build" / "bench.json"
    write([entry("a", "rows/s", [1], [1]), entry("b", "rows/s", [1], [1])], path)
    write([entry("b", "rows/s", [4], [2])], path)
    found = json.loads(path.read_text())
    assert [one["name"] for one in found] == ["a", "b"]
    assert {"name", "unit", "ours", "baseline", "ratio", "runs"} <= found[1].keys()
    assert found[1]["ratio"] == 2.0


def test_table_names_each_entry() -> None:
    text = table([entry("rows_tx1", "rows/s", [60_000], [2000])])
    assert "rows_tx1" in text and "30.00x" in text and "60,000" in text


def test_rate_and_peak() -> None:
    assert Outcome(rows=1000, seconds=0.5, peak_mb=1).rate == 2000
    assert peak_mb() > 5
