from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec

from dev.checker.history import Change, Role, Seen, Transaction
from dev.checker.spool import Spool
from dev.soak.archive import Archive
from dev.soak.figures import Terms, backlogs, draw, percentile, seconds


def record(epoch: int, time_ms: int) -> Seen:
    return Seen("t", 0, time_ms, 1, time_ms, "u", epoch, time_ms=time_ms)


def test_a_takeover_is_from_the_last_record_of_a_term_to_the_first_of_the_next() -> None:
    seen = [record(3, 1000), record(3, 1500), record(8, 3500), record(8, 3600), record(11, 3700)]
    terms = Terms()
    for one in seen[:2]:
        terms.see(one)
    assert terms.takeovers() == []
    for one in seen[2:]:
        terms.see(one)
    assert [(taken.begun_ms, taken.seconds) for taken in terms.takeovers()] == [(1500, 2.0), (3600, 0.1)]


def test_a_backlog_is_what_a_silence_of_three_seconds_leaves_until_a_second_of_it_is_left() -> None:
    written = [(ms, 25) for ms in range(0, 20_000, 250)]  # 100 rows a second
    sent = list(range(0, 5_000, 10))
    assert backlogs(written[:20], sent) == [], "no silence"
    sent += list(range(10_000, 12_000, 2))  # five seconds late, five times as fast
    sent += list(range(12_000, 20_000, 10))
    [found] = backlogs(written, sent)
    assert found.rows == 500
    assert 1.0 <= found.seconds <= 1.5 and 4.5 <= found.speed <= 5.5
    assert backlogs([], []) == []


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
    archive = Archive(path)
    archive.add("run", {"seed": 1})
    journal = Spool(tmp_path / "journal")
    journal.append(Transaction(0, [Change(1, 1, 1, "c")], "committed"))
    for kind, facts in (
        ("transaction", next(iter(journal))),
        ("seen", record(3, 5)),
        ("role", Role("a/1", 3, 0.0, 1.0)),
    ):
        archive.add(kind, msgspec.structs.asdict(facts))
    archive.close()
    journal.close()
    assert len(journal) == 1
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert [line["kind"] for line in lines] == ["run", "transaction", "seen", "role"]
    assert lines[1]["changes"] == [{"key": 1, "counter": 1, "serial": 1, "op": "c"}]
