"""All rules over all subjects."""

from __future__ import annotations

from replicator.alerts.evaluation import Active, Evaluator, Key, Subject
from replicator.alerts.figures import FROZEN_WITHOUT_ZOOKEEPER, Scope, Value
from replicator.alerts.rule import Rule

ALL: set[Scope] = {"monitor", *FROZEN_WITHOUT_ZOOKEEPER}
LAG = Rule(name="Lag", of="task", when="lag_seconds > 30", for_s=2, summary="{task} is {lag_seconds} behind")
AWAY = Rule(name="Away", of="monitor", when="zookeeper_connected = FALSE", severity="critical", summary="no data")
KEY = Key("Lag", "task", "a")


def task(lag: float | None, name: str = "a", **labels: str) -> Subject:
    return Subject("task", name, {"task": name, "lag_seconds": lag}, labels)


def cluster(connected: bool) -> Subject:
    return Subject("monitor", "", {"zookeeper_connected": connected})


def firing(evaluator: Evaluator | None = None) -> dict[Key, Active]:
    evaluator = evaluator or Evaluator([LAG, AWAY])
    active: dict[Key, Active] = {}
    for now in (0, 1000, 2000):
        active, changes = evaluator.evaluate([cluster(True), task(40, team="x")], ALL, active, now)
    assert [(change.active.key, change.ended) for change in changes] == [(KEY, None)]
    assert active[KEY].summary == "a is 40 s behind"
    return active


def test_without_zookeeper_tasks_are_frozen_and_the_monitor_has_its_alert() -> None:
    evaluator = Evaluator([LAG, AWAY])
    active, changes = evaluator.evaluate([cluster(False)], {"monitor"}, firing(), 3000)
    assert [change.active.rule for change in changes] == ["Away"]
    assert active[KEY].firing and active[KEY].alert.unknown_ms == 3000
    active, changes = evaluator.evaluate([cluster(True), task(3)], ALL, active, 900_000)
    assert {(change.active.rule, change.ended) for change in changes} == {("Lag", "resolved"), ("Away", "resolved")}
    assert not active


def test_a_missing_figure_keeps_the_alert_and_its_sentence() -> None:
    active, changes = Evaluator([LAG]).evaluate([task(None)], ALL, firing(), 3000)
    assert not changes
    assert (active[KEY].alert.unknown_ms, active[KEY].summary) == (3000, "a is 40 s behind")


def test_a_figure_that_does_not_apply_ends_the_alert() -> None:
    paused = Subject("task", "a", {"task": "a"})
    active, changes = Evaluator([LAG]).evaluate([paused], ALL, firing(), 3000)
    assert [change.ended for change in changes] == ["resolved"] and not active


def test_a_deleted_task_ends_its_alerts_and_one_that_comes_again_begins_again() -> None:
    evaluator = Evaluator([LAG])
    active, changes = evaluator.evaluate([], ALL, firing(), 3000)
    assert [change.ended for change in changes] == ["gone"] and not active
    active, changes = evaluator.evaluate([task(99)], ALL, active, 4000)
    assert not changes and active[KEY].alert.state == "pending"


def test_a_rule_that_is_removed_ends_its_alerts() -> None:
    active, changes = Evaluator([AWAY]).evaluate([cluster(True), task(40)], ALL, firing(), 3000)
    assert [change.ended for change in changes] == ["rule removed"] and not active


def test_a_pending_alert_ends_without_a_word() -> None:
    evaluator = Evaluator([LAG])
    active, changes = evaluator.evaluate([task(40)], ALL, {}, 0)
    assert active and not changes
    assert evaluator.evaluate([task(1)], ALL, active, 1000) == ({}, [])
    assert evaluator.evaluate([], ALL, active, 1000) == ({}, [])


def test_a_rule_for_some_tasks() -> None:
    rule = Rule(name="Lag", of="task", when="lag_seconds > 30", tasks="team=x", summary="s", labels={"page": "yes"})
    active, changes = Evaluator([rule]).evaluate([task(40, "a", team="x"), task(40, "b", team="y")], ALL, {}, 0)
    assert [change.active.name for change in changes] == ["a"]
    assert active[KEY].labels == {"team": "x", "page": "yes"} and active[KEY].task_labels == {"team": "x"}
    _, changes = Evaluator([rule]).evaluate([task(40, "a", team="y")], ALL, active, 1000)
    assert [change.ended for change in changes] == ["gone"]


def test_sentences() -> None:
    def said(figures: dict[str, Value]) -> str:
        rule = Rule(name="R", of="task", when="running > 0", summary="{task} {lag_seconds} {running} {lag_unknown}")
        found, _ = Evaluator([rule]).evaluate([Subject("task", "t", {"running": 1, **figures})], ALL, {}, 0)
        return found[Key("R", "task", "t")].summary

    assert said({"task": "t", "lag_seconds": 3700.0, "lag_unknown": True}) == "t 61 min 1 yes"
    assert said({"task": "{task}", "lag_seconds": None}) == "{task} an unknown time 1 unknown"
