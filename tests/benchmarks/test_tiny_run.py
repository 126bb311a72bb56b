"""The benchmark itself works from end to end, over a load so small that its figures are of no interest here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.bench import latency, report, sections
from dev.bench.apply import filling
from dev.bench.load import DATABASE, Load, Segment
from dev.bench.page import page
from dev.bench.runner import Contents, Runner
from dev.bench.target import target_of
from dev.servers import Kafka, MySQL
from dev.servers.database import Database

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def runner(mysql: MySQL, kafka: Kafka) -> Iterator[Runner]:
    database: Database = mysql
    load = Load(database)
    load.prepare()
    yield Runner(database, kafka)
    database.execute(f"DROP DATABASE {DATABASE}")


@pytest.fixture(scope="module")
def segment(runner: Runner) -> Segment:
    load = Load(runner.database)
    segment = load.mixed("tiny", 600, 10)
    load.close_last()
    return segment


def test_the_paths_say_the_same_of_the_same_rows(runner: Runner, segment: Segment) -> None:
    assert [each.value for each in runner.compare(segment)] == [600]


def test_a_baseline_that_says_something_else_is_noticed() -> None:
    told: Contents = {0: [(b"1", "c", None, {"id": 1})]}
    with pytest.raises(RuntimeError, match="plain differs"):
        Runner.agree({"ours": {0: [(b"1", "c", None, {"id": 2})]}, "twin": {}, "plain": told})
    Runner.agree({"ours": told, "plain": told})
    Runner.agree({"ours": told, "plain": {0: told[0] * 2}})  # behind the segment's end


def test_every_path_and_format_leaves_its_figures(runner: Runner, segment: Segment, tmp_path: Path) -> None:
    output = tmp_path / "bench.json"
    report.write(list(sections.against(runner, segment, "tx10000", 1)), output)
    report.write(list(sections.guards(runner, {"tx10000": segment}, 1)), output)
    found = report.read(output)
    report.write(sections.missing(found, {"debezium": "PEERS=1"}), output)
    found = report.read(output)
    assert found.keys() >= sections.REQUIRED.keys()
    measured = ("plain", "raw", "twin", "nowhere", *(f"cpu_us.{form}" for form in sections.FORMATS))
    for name in (f"{each}.tx10000" for each in (*measured, "guards_counted")):
        assert found[name].value, name
    assert found["debezium.tx1"].value is None
    assert found["debezium.tx1"].reason == "PEERS=1"
    text = page(found)
    for what in ("ours, format canal", "the plain packages", "mysqlbinlog --raw"):
        assert re.search(rf"\| {what}[^|]* \| - \| - \| [\d,.e+]+ \| [\d,.e+]+ \|", text), what


def test_latency_is_of_rows_that_a_consumer_saw(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "_HEATS", ((100, 0.5),))
    found = {each.name: each for each in latency.latencies(runner, {100: 1.0})}
    for delivery in sections.DELIVERIES:
        assert found[f"latency_ms.{delivery}.samples"].value == 300
        p50, p999 = (found[f"latency_ms.{delivery}.{share}"].value or 0 for share in ("p50", "p999"))
        assert 0 < p50 <= p999


def test_a_target_is_filled_by_a_task_and_by_the_dump(mysql: MySQL, runner: Runner) -> None:
    table = Load(mysql).table(500)
    with target_of(mysql) as target:
        found = {each.name: each.value for each in filling(runner, mysql, target, table, 1)}
    assert found["apply.fill.rate"] and found["apply.fill.rate.dump"] and found["apply.fill"]
