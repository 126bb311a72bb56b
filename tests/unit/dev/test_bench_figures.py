"""The arithmetic of the benchmarks. Nothing timed is asserted anywhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import FunctionType
from xml.etree import ElementTree

from dev.bench import flames, report
from dev.bench.job import Outcome, high_water_mb
from dev.bench.load import _deletes
from dev.bench.page import PARTS, TEXT, WANTED, page
from dev.bench.plot import draw
from dev.bench.sections import REQUIRED, missing, spread
from dev.bench.snapshots import Shares, peer_figures, snapshot_figures
from dev.bench.stream_lag import limit
from dev.paths import TREE
from replicator.pipeline.pipeline import Pipeline
from replicator.pipeline.reader import Reader


def test_ratio_is_of_medians() -> None:
    made = report.ratio("plain.tx1", "ratio", [30.0, 10.0, 20.0], [2.0, 4.0, 100.0])
    assert (made.value, made.ours, made.baseline, made.ratio, made.runs) == (5.0, 20.0, 4.0, 5.0, 3)
    assert made.samples == {"ours": [30.0, 10.0, 20.0], "baseline": [2.0, 4.0, 100.0]}
    assert report.ratio("rows_tx1", "rows/s", [20.0], [4.0], value="ours").value == 20.0


def test_a_small_ratio_keeps_its_digits() -> None:
    assert report.ratio("raw.tx10000", "ratio", [81_234.0], [1_000_000.0]).value == 0.0812


def test_percentiles_are_samples() -> None:
    samples = [float(number) for number in range(1000, 0, -1)]
    found = [report.percentile(samples, share) for share in (0.5, 0.99, 0.999, 1.0)]
    assert found == [500.0, 990.0, 999.0, 1000.0]
    assert report.percentile([7.0], 0.99) == 7.0
    made = report.part("takeover_s.p99", "s", samples, 0.99)
    assert (made.value, made.runs, made.samples) == (990.0, 1000, {})


def test_spread_is_of_pairs() -> None:
    assert spread([10.0, 30.0, 20.0], [10.0, 10.0, 40.0]) == (0.5, 1.0, 3.0)


def test_one_of_ten_deletes() -> None:
    assert [_deletes(transactions, 10) for transactions in (3, 4, 13, 14, 200)] == [0, 10, 10, 20, 200]


def test_writing_replaces_names_and_keeps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text('[{"name": "old", "unit": "MB", "ours": 1.0}]')
    report.write([report.figure("a", "us", [1.0]), report.figure("b", "us", [2.0])], path)
    report.write([report.figure("b", "us", [3.0, 5.0, 4.0]), report.absent("a", "us", "not now")], path)
    found = report.read(path)
    assert {name: each.value for name, each in found.items()} == {"a": 1.0, "b": 4.0}
    assert [each["name"] for each in json.loads(path.read_text())] == ["a", "b"]
    report.write([report.absent("failed.a", "part", "it broke")], path)
    report.write([report.figure("a", "us", [2.0])], path, outdated={"failed.a"})
    assert {name: each.value for name, each in report.read(path).items()} == {"a": 2.0, "b": 4.0}


def test_every_required_entry_is_there_with_a_reason() -> None:
    found = {"plain.tx1": report.figure("plain.tx1", "ratio", [2.0])}
    made = {each.name: each for each in missing(found, {"debezium": "PEERS=1"})}
    assert made.keys() | found.keys() == REQUIRED.keys()
    assert all(each.value is None and each.reason for each in made.values())
    assert made["debezium.tx1"].reason == "PEERS=1"


def test_the_page_shows_what_was_missed() -> None:
    entries = {
        "plain.tx1": report.figure("plain.tx1", "ratio", [61.0]),
        "plain.tx10000": report.figure("plain.tx10000", "ratio", [39.0]),
        "rate.debezium.tx1": report.figure("rate.debezium.tx1", "rows/s", [65_432.0]),
    }
    text = page(entries)
    assert "| rows/s against the plain packages, 1-row transactions | >= 60 x | 61 x | yes |" in text
    assert "| rows/s against the plain packages, 10,000-row transactions | >= 40 x | 39 x | **no** |" in text
    assert "65,432" in text
    assert "<!--" not in text


def test_every_table_has_a_place_on_the_page() -> None:
    text = TEXT.read_text()
    assert all(f"<!-- {name} -->" in text for name in PARTS)
    assert len({want.name for want in WANTED}) == len(WANTED)


def outcome(rate: float, cpu_us: float = 2.0) -> Outcome:
    """Of 1,000 rows, of which the last 900 ran at twice that rate and half the CPU."""
    seconds, cpu_s = 1000 / rate, cpu_us * 1000 / 1e6
    return Outcome(1000, seconds, 100.0, cpu_s, steady=(900, 900 / rate / 2, 900 * cpu_us / 2 / 1e6))


def test_a_snapshot_is_compared_with_the_faster_of_the_tuned_settings() -> None:
    ours = {"debezium": [outcome(100.0)], "maxwell": [outcome(150.0)]}
    theirs = {name: [Outcome(900, 900 / rate, 1500.0, 0.018)] for name, rate in RATES.items()}
    found = {each.name: each.value for each in peer_figures(ours, theirs)}
    assert (found["snapshot.debezium"], found["snapshot.maxwell"]) == (4.0, 6.0)  # 200 and 300 against 50
    assert (found["snapshot.debezium.defaults"], found["snapshot.maxwell.defaults"]) == (2.5, 3.75)
    assert found["snapshot.debezium_cpu"] == 0.05
    assert found["snapshot.rate.peer.tuned"] == 40.0
    del theirs["defaults"]
    assert "snapshot.debezium.defaults" not in {each.name for each in peer_figures(ours, theirs)}


RATES = {"tuned": 40.0, "two_threads": 50.0, "defaults": 80.0}


def test_a_snapshot_outlasts_the_series_of_latencies_beside_it() -> None:
    assert limit(2_000_000, 15.0) == 30_000
    for rows, seconds in ((2_000_000, 15.0), (40_000, 4.0), (500_000, 15.0), (10, 4.0)):
        assert limit(rows, seconds) * seconds * 4 <= rows or limit(rows, seconds) == 1


def test_the_page_shows_snapshots() -> None:
    shares = [Shares(1.5, 3.25)]
    entries = {each.name: each for each in snapshot_figures("debezium", [outcome(100.0)], shares)}
    entries["snapshot.debezium"] = report.ratio("snapshot.debezium", "ratio", [200.0], [50.0])
    text = page(entries)
    assert "| ours, format debezium | 100 | 200 | 1 | 1.5 | 3.25 | 100 |" in text
    assert "| snapshot, format debezium, against Debezium tuned | >= 8 x | 4 x | **no** |" in text
    assert "| rows/s, format debezium, against Debezium tuned | 4 |" in text


def test_the_high_water_mark_of_a_process() -> None:
    assert high_water_mb(os.getpid()) > 1
    assert high_water_mb(2**22 + 1) == 0.0


def test_the_plot_is_a_small_png(tmp_path: Path) -> None:
    names = [
        f"{kind}.{path}.{size}"
        for kind in ("rate", "cpu_us")
        for path in ("plain", "debezium")
        for size in ("tx1", "tx10000")
    ]
    draw({name: report.figure(name, "", [7.0]) for name in names}, tmp_path / "plot.png")
    drawn = (tmp_path / "plot.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert len(drawn) < 100_000


def frame(function: object) -> str:
    """As py-spy names it."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    return f"{code.co_qualname} ({Path(code.co_filename).relative_to(TREE)}:9)"


def test_flames_are_as_wide_as_their_samples() -> None:
    read, write = frame(Reader._run), frame(Pipeline._deliver)
    lines = [f"thread (1);{read};decode 30", f"thread (1);{read} 10", f"thread (2): MainThread;{write};<write> 5"]
    sides = flames.by_side([*lines, "thread (2): MainThread;import 2"])
    assert {name: sum(stacks.values()) for name, stacks in sides.items()} == {"reader": 40, "deliver": 5, "start": 2}
    drawn = ElementTree.fromstring(flames.svg(sides["reader"], "reader"))  # noqa: S314  (our own)
    widths = {
        box[0].text: float(box[1].attrib["width"]) for box in drawn.iter("{http://www.w3.org/2000/svg}g") if box[0].text
    }
    assert widths == {"reader (100.0 %)": 1200.0, f"{read} (100.0 %)": 1200.0, "decode (75.0 %)": 900.0}
    assert "&lt;write&gt;" in flames.svg(sides["deliver"], "deliver")
