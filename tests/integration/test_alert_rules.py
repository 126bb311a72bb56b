"""deploy/ in Prometheus' own tool: each alert rule fires, does not fire, and resolves; queries of dashboards parse."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.errors import ServerUnavailable
from dev.fetch.prometheus import promtool
from dev.grafana.dashboards import DASHBOARDS
from dev.pages.runbooks import groups
from dev.paths import TREE
from tests.support.rule_cases import CASES, promtool_test

RULES = TREE / "deploy" / "alerts.yaml"
_MOST_SECONDS = 120


@pytest.fixture(scope="module")
def tool() -> list[str]:
    """A tool that is not to be had is an error under CI=true."""
    try:
        return promtool()
    except ServerUnavailable as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(f"NOT TESTED: {error}")


def called(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_MOST_SECONDS)
    return done.returncode, done.stdout + done.stderr


def every_rule() -> list[dict[str, Any]]:
    return [rule for group in groups() for rule in group["rules"]]


def run_tests(tool: list[str], folder: Path, rules: Path = RULES, only: str = "") -> tuple[int, str]:
    tests = [
        promtool_test(rule, CASES[rule["alert"]]) for rule in every_rule() if rule["alert"] == (only or rule["alert"])
    ]
    file = folder / "alerts_test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}))
    return called([*tool, "test", "rules", str(file)])


def test_the_rules_are_valid(tool: list[str]) -> None:
    code, said = called([*tool, "check", "rules", str(RULES)])
    assert code == 0, said
    assert f"{len(every_rule())} rules found" in said


def test_every_rule_fires_when_it_has_to_and_ends(tool: list[str], tmp_path: Path) -> None:
    assert CASES.keys() == {rule["alert"] for rule in every_rule()}
    code, said = run_tests(tool, tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    ("alert", "before", "after"),
    [
        ("BusLag", "bus_task_lag_seconds > 30\n        for: 5m", "bus_task_lag_seconds > 30\n        for: 50m"),
        ("BusLagUnknown", "bus_task_lag_unknown == 1", "bus_task_lag_unknown == 0"),
        ("BusInflightFull", "bus_inflight_limit_bytes > 0.8", "bus_inflight_limit_bytes > 0.95"),
        ("BusUnsupportedEvents", "increase(bus_unsupported_events_total[1h]) > 0", "bus_unsupported_events_total > 0"),
    ],
    ids=["fires later", "fires when all is well", "does not fire", "never ends"],
)
def test_a_rule_that_is_wrong_is_found(tool: list[str], tmp_path: Path, alert: str, before: str, after: str) -> None:
    text = RULES.read_text()
    assert before in text
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text.replace(before, after))
    code, said = run_tests(tool, tmp_path, wrong, alert)
    assert code != 0, said


def test_texts_only_name_labels_that_the_alert_has() -> None:
    for rule in every_rule():
        for text in rule["annotations"].values():
            assert set(re.findall(r"\$labels\.(\w+)", text)) <= CASES[rule["alert"]].labels.keys(), rule["alert"]


def test_every_query_of_the_dashboards_is_valid(tool: list[str], tmp_path: Path) -> None:
    """As recording rules: promtool has no other way to parse one."""
    found = []
    for board in (dashboard.json() for dashboard in DASHBOARDS.values()):
        found += [mark["expr"] for mark in board["annotations"]["list"]]
        found += [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    rules = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(found)]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    code, said = called([*tool, "check", "rules", str(file)])
    assert code == 0, said
    assert f"{len(found)} rules found" in said
    rules[3]["expr"] += ")"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    assert called([*tool, "check", "rules", str(file)])[0] != 0
