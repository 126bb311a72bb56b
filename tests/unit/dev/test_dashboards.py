"""The Grafana dashboards: current, and complete in themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from dev.grafana.dashboards import DASHBOARDS
from dev.grafana.model import WIDTH
from dev.paths import TREE

NAMES = sorted(DASHBOARDS)
KNOWN = {"stat", "timeseries", "table", "state-timeline", "row"}
BUILT_IN = {"__value.text", "__url_time_range", "datasource", "datasource:queryparam", "job:queryparam"}


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((TREE / "deploy" / "grafana" / f"{name}.json").read_text())
    return found


def expressions(board: dict[str, Any]) -> Iterator[str]:
    yield from (mark["expr"] for mark in board["annotations"]["list"])
    for panel in board["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_current(name: str) -> None:
    """`make docs` writes them."""
    assert (TREE / "deploy" / "grafana" / f"{name}.json").read_text() == DASHBOARDS[name].text()


def test_there_are_no_others() -> None:
    assert sorted(path.stem for path in (TREE / "deploy" / "grafana").iterdir()) == NAMES
    assert len({board.uid for board in DASHBOARDS.values()}) == len(DASHBOARDS)


@pytest.mark.parametrize("name", NAMES)
def test_panels_have_ids_and_do_not_overlap(name: str) -> None:
    panels = read(name)["panels"]
    ids = [panel["id"] for panel in panels]
    assert len(set(ids)) == len(ids)
    assert {panel["type"] for panel in panels} <= KNOWN
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] >= 0 and at["y"] >= 0 and at["w"] > 0 and at["h"] > 0 and at["x"] + at["w"] <= WIDTH
        assert panel["title"]
        if panel["type"] != "row":
            assert panel["description"] and panel["targets"]
            names = [target["refId"] for target in panel["targets"]]
            assert len(set(names)) == len(names)
    for one, other in combinations(panels, 2):
        assert not overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    across = one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
    return across and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"]


@pytest.mark.parametrize("name", NAMES)
def test_every_data_source_is_the_variable(name: str) -> None:
    text = (TREE / "deploy" / "grafana" / f"{name}.json").read_text()
    assert set(re.findall(r'"uid": "(.*?)"', text)) == {"${datasource}", DASHBOARDS[name].uid}


@pytest.mark.parametrize("name", NAMES)
def test_variables_that_are_used_exist(name: str) -> None:
    board = read(name)
    variables = {variable["name"] for variable in board["templating"]["list"]}
    text = json.dumps(board)
    used = set(re.findall(r"\$\{([^}]+)\}", text)) - BUILT_IN
    used |= set(re.findall(r"\$([a-z]+)\b", text))
    assert used <= variables
    assert {"datasource", "job"} <= variables


def test_links_go_to_dashboards_that_exist() -> None:
    uids = {board.uid for board in DASHBOARDS.values()}
    for name in NAMES:
        for uid in re.findall(r'"/d/([a-z-]+)', (TREE / "deploy" / "grafana" / f"{name}.json").read_text()):
            assert uid in uids
    assert "/d/mysql-replicator-task" in DASHBOARDS["fleet"].text()


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_is_documented(name: str) -> None:
    documented = set(re.findall(r"bus_[a-z0-9_]+", (TREE / "docs" / "metrics.md").read_text()))
    found = {metric for expr in expressions(read(name)) for metric in re.findall(r"bus_[a-z0-9_]+", expr)}
    queries = " ".join(v["query"]["query"] for v in read(name)["templating"]["list"] if v["type"] == "query")
    found |= set(re.findall(r"bus_[a-z0-9_]+", queries))
    assert found
    assert {re.sub("_(bucket|count|sum)$", "", metric) for metric in found} <= documented


@pytest.mark.parametrize("name", NAMES)
def test_thresholds_ascend_from_nothing(name: str) -> None:
    for panel in read(name)["panels"]:
        steps = panel.get("fieldConfig", {}).get("defaults", {}).get("thresholds", {}).get("steps", [])
        values = [step["value"] for step in steps]
        assert not values or values[0] is None
        assert values[1:] == sorted(values[1:])
