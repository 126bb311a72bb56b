"""Rules in YAML: the shipped ones, changes of them, and errors with their lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from dev.paths import TREE
from replicator.alerts.condition import names, thresholds
from replicator.alerts.durations import seconds, written
from replicator.alerts.figures import FIGURES
from replicator.alerts.rule_file import load, rules, shipped
from replicator.documentation.pages import sections
from replicator.errors import ProcessError

OWN = """
rules:
  - name: OrdersSlow
    of: task
    tasks: team=orders
    when: lag_seconds > 5 AND rows_per_second > 0
    for: 1m30s
    keep: 10s
    severity: critical
    summary: "{task} is {lag_seconds} behind"
    labels: {page: "yes"}
"""


def prometheus() -> dict[str, dict[str, object]]:
    text = yaml.safe_load((TREE / "deploy" / "alerts.yaml").read_text())
    found = {}
    for rule in text["groups"][0]["rules"]:
        # Beside the thresholds an expression has 1 and 0 as truth values, the name of a window, and products.
        expression = re.sub(r'\[[^]]*\]|"[^"]*"', "", rule["expr"])
        numbers = [
            float(one) * int(two or 1) for one, two in re.findall(r"\b(\d+(?:\.\d+)?)(?: \* (\d+))?", expression)
        ]
        truth = bool(re.search(r"== [01]", expression)) or "state" in rule["expr"]
        found[rule["alert"]] = {
            "severity": rule["labels"]["severity"],
            "for": seconds(rule.get("for", "0s")),
            "keep": seconds(rule.get("keep_firing_for", "0s")),
            "thresholds": [] if truth else numbers,
        }
    return found


def test_shipped_rules_are_those_for_prometheus() -> None:
    """By name, severity, threshold and time. BusMonitorAway is what no Monitor can say itself."""
    other = prometheus()
    assert other.pop("BusMonitorAway")
    own = {
        one.name: {"severity": one.severity, "for": one.for_s, "keep": one.keep_s, "thresholds": thresholds(one.when)}
        for one in shipped()
    }
    own["BusAddressRefused"]["thresholds"] = []  # a flag there, a number of sections here
    assert own == other


def test_runbooks_of_shipped_rules_exist() -> None:
    for rule in shipped():
        page, _, anchor = rule.runbook.partition("#")
        headings = {
            re.sub(r"[^a-z0-9 -]", "", section.heading.lower()).replace(" ", "-")
            for section in sections((TREE / page).read_text())
        }
        assert not anchor or anchor in headings, rule.name


def test_every_shipped_rule_names_its_subject() -> None:
    for rule in shipped():
        first = next(iter(FIGURES[rule.of]))
        assert rule.of == "cluster" or f"{{{first}}}" in rule.summary, rule.name
        assert names(rule.when) <= FIGURES[rule.of].keys()


def test_a_rule_of_the_installation_comes_with_the_shipped_ones() -> None:
    found = {rule.name: rule for rule in rules(OWN, "own.yaml")}
    own = found.pop("OrdersSlow")
    assert list(found.values()) == list(shipped())
    assert (own.for_s, own.keep_s, own.severity, own.labels, own.shipped) == (
        90,
        10,
        "critical",
        {"page": "yes"},
        False,
    )


def test_a_shipped_rule_is_changed_disabled_or_left_out() -> None:
    text = "rules:\n  - {name: BusLag, when: lag_seconds > 60}\n  - {name: BusGaveUp, disabled: true}\n"
    found = {rule.name: rule for rule in rules(text, "own.yaml")}
    before = {rule.name: rule for rule in shipped()}
    assert found["BusLag"].when == "lag_seconds > 60" and found["BusLag"].for_s == 300
    assert found["BusLag"].summary == before["BusLag"].summary and not found["BusLag"].shipped
    assert before.keys() - found.keys() == {"BusGaveUp"}
    assert [rule.name for rule in rules(f"shipped: false\n{text}", "own.yaml")] == ["BusLag"]
    assert rules("shipped: false", "own.yaml") == ()


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("- name: x", 1, "a list"),
        ("rule: []", 1, "the key 'rule'"),
        ("rules: 7", 1, "the number 7"),
        ("rules:\n  - BusLag", 2, "a text"),
        ("rules:\n  - name: 'a b'", 2, "the name 'a b'"),
        ("rules:\n  - name: Mine\n    of: planet", 3, "of: 'planet'"),
        ("rules:\n  - name: Mine\n    of: task", 2, "Mine without when"),
        (
            "rules:\n  - name: Mine\n    of: task\n    when: lag > 3\n    summary: s",
            4,
            "'lag' in the condition of Mine",
        ),
        (
            "rules:\n  - name: Mine\n    of: task\n    when: running > 'x'\n    summary: s",
            4,
            "a comparison of a number",
        ),
        ("rules:\n  - name: BusLag\n    for: soon", 3, "for: soon"),
        ("rules:\n  - name: BusLag\n    for: -5", 3, "for: -5"),
        ("rules:\n  - name: BusLag\n    for: true", 3, "for: True"),
        ("rules:\n  - name: BusLag\n    severity: bad", 3, "the severity 'bad'"),
        ("rules:\n  - name: BusLag\n    summary: '{nothing}'", 3, "{nothing} in the summary of BusLag"),
        ("rules:\n  - name: BusLag\n    of: machine", 3, "BusLag of a machine"),
        ("rules:\n  - name: BusMachineGone\n    tasks: env=prod", 3, "tasks of a rule of a machine"),
        ("rules:\n  - name: BusLag\n    tasks: '='", 3, "the selector '='"),
        ("rules:\n  - name: BusLag\n    labels: {a: 1}", 3, "the label a: 1"),
        ("rules:\n  - name: BusLag\n    colour: red", 3, "the key 'colour'"),
        ("rules:\n  - name: BusLag\n  - name: BusLag", 3, "two rules with the name BusLag"),
        ("rules:\n  - name: Mine\n    disabled: true", 2, "Mine, disabled"),
        ("rules:\n  - name: BusLag\n    disabled: yes please", 3, "a text"),
    ],
)
def test_errors_name_the_line(text: str, line: int, found: str) -> None:
    with pytest.raises(ProcessError) as refused:
        rules(text, "own.yaml")
    assert refused.value.code == "E5180"
    assert refused.value.what == f"own.yaml, line {line}: an alert rule is not valid"
    assert found in refused.value.found and refused.value.wanted


def test_text_that_is_not_yaml(tmp_path: Path) -> None:
    with pytest.raises(ProcessError) as refused:
        rules("rules: [", "own.yaml")
    assert refused.value.code == "E5180" and "line" in refused.value.found
    with pytest.raises(ProcessError) as missing:
        load(tmp_path / "none.yaml")
    assert missing.value.code == "E5181"


@pytest.mark.parametrize("text", ["0s", "30s", "5m", "1h30m", "1d", "2d1h"])
def test_durations_are_written_as_they_are_read(text: str) -> None:
    assert written(seconds(text)) == text
