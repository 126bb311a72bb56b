from __future__ import annotations

import gzip
import json
from pathlib import Path

from dev.checker.history import Change, Role, Seen, Transaction
from dev.soak.archive import Archive
from dev.soak.figures import draw, percentile, seconds, takeovers


def record(epoch: int, time_ms: int) -> Seen:
    return Seen("t", 0, time_ms, 1, time_ms, "u", epoch, time_ms=time_ms)


def test_a_takeover_is_from_the_last_record_of_a_term_to_the_first_of_the_next() -> None:
    seen = [record(3, 1000), record(3, 1500), record(8, 3500), record(8, 3600), record(11, 3700)]
    assert [(t.begun_ms, t.seconds) for t in takeovers(seen)] == [(1500, 2.0), (3600, 0.1)]
    assert takeovers(seen[:2]) == []


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(value) for value in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1.0)) == (50.0, 99.0, 100.0)
    assert percentile([7.0], 0.01) == 7.0
    assert (seconds(percentile([], 0.5)), seconds(4.126)) == ("-", "4.13")


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "takeover.png"
    draw(path, {"SIGKILL": [4.1, 4.4, 5.0], "planned": []}, 4.0)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_archive_is_lines_of_json_with_everything_in_them(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl.gz"
    with Archive(path) as archive:
        archive.add("run", {"seed": 1})
        archive.history(
            "orders", [Transaction(0, [Change(1, 1, 1, "c")], "committed")], [record(3, 5)], [Role("a/1", 3, 0.0, 1.0)]
        )
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert [line["kind"] for line in lines] == ["run", "transaction", "seen", "role"]
    assert lines[1]["changes"] == [{"key": 1, "counter": 1, "serial": 1, "op": "c"}]
