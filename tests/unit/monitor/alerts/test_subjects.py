"""Figures of a view for alert rules."""

from __future__ import annotations

from socket import gethostname

import msgspec

from monitor.alerts.subjects import HOUR_MS, Increases, Subjects
from monitor.role_changes import Change
from monitor.snapshot_history import SnapshotHistory
from monitor.snapshot_reader import SnapshotReader
from monitor.view import AddressView, MachineView, ServerView, TaskRow, View
from monitor.view_builder import build
from replicator.alerts.evaluation import Active, Evaluator, Key, Subject
from replicator.alerts.figures import FIGURES
from replicator.alerts.rule_file import shipped
from tests.unit.monitor.scene import night, now_ms


def subjects(view: View, *changes: Change) -> dict[tuple[str, str], Subject]:
    found, _ = Subjects(lambda task: changes, lambda: (now_ms() + 1000, False)).of(view, now_ms())
    return {(each.of, each.name): each for each in found}


def view_of(*tasks: TaskRow, **more: object) -> View:
    return msgspec.structs.replace(View(root="/x", read_ms=now_ms(), stale_since_ms=None), tasks=tasks, **more)


def row(**more: object) -> TaskRow:
    values: dict[str, object] = {"name": "t", "state": "RUNNING", "tone": "ok", "trouble": 0, "figures_age_s": 0.5}
    return TaskRow(**{**values, **more})  # type: ignore[arg-type]


def test_every_figure_is_there_and_no_other() -> None:
    addresses = (AddressView("app.db", "db1:3306", answers=True),)
    machines = (MachineView(host="m", state="online", tone="ok", since_ms=1),)
    servers = (ServerView("s", "https://s", 1, certificate_ms=now_ms()),)
    found = subjects(view_of(row(), addresses=addresses, machines=machines, servers=servers))
    for subject in found.values():
        assert subject.figures.keys() <= FIGURES[subject.of].keys()
    for key in (
        ("machine", "m"),
        ("address", "app.db"),
        ("listener", "server s"),
        ("listener", f"monitor {gethostname()}"),
        ("monitor", gethostname()),
        ("cluster", ""),
    ):
        assert found[key].figures.keys() == FIGURES[found[key].of].keys()
    left_out = FIGURES["task"].keys() - found["task", "t"].figures.keys()
    assert left_out == {"tables_differing", "verified_age_seconds", "unplaced", "group", "certificate_left_seconds"}


def test_a_task_that_is_paused_has_no_lag_and_one_that_fails_has_an_unknown_one() -> None:
    paused = subjects(view_of(row(state="PAUSED", lag_s=None)))["task", "t"].figures
    failed = subjects(view_of(row(state="FAILED", lag_s=None)))["task", "t"].figures
    assert "lag_seconds" not in paused and failed["lag_seconds"] is None
    assert paused["lag_unknown"] is False and failed["lag_unknown"] is False


def test_the_certificate_of_a_task_whose_core_is_silent_is_not_known() -> None:
    silent = subjects(view_of(row(figures_old=True, certificate_ms=0)))["task", "t"].figures
    assert silent["certificate_left_seconds"] is None


def test_without_figures_only_the_cluster_is_known() -> None:
    stale = msgspec.structs.replace(view_of(row()), stale_since_ms=1)
    found, known = Subjects(lambda task: ()).of(stale, now_ms())
    assert [each.of for each in found] == ["monitor"] and known == {"monitor"}
    assert found[0].figures["zookeeper_connected"] is False


def test_machines_that_ended_on_request_have_no_alert() -> None:
    states = ("online", "silent", "offline", "stopped")
    machines = tuple(MachineView(host=state, state=state, tone="ok", since_ms=1) for state in states)  # type: ignore[arg-type]
    found = subjects(view_of(machines=machines))
    assert {name for of, name in found if of == "machine"} == {"online", "silent", "offline"}
    assert found["machine", "silent"].figures["online"] is False
    assert found["machine", "offline"].figures["online"] is False


def test_a_machine_that_a_new_monitor_does_not_know_keeps_its_alert() -> None:
    gone = (MachineView(host="m", state="offline", tone="bad", since_ms=1),)
    evaluator, seen = Evaluator(shipped()), Subjects(lambda task: ())
    active: dict[Key, Active] = {}
    now = now_ms()
    for after in range(0, 400, 50):
        found, known = seen.of(view_of(machines=gone), now + after * 1000, active)
        active, _ = evaluator.evaluate(found, known, active, now + after * 1000)
    assert [one.rule for one in active.values() if one.firing] == ["BusMachineGone"]
    found, known = seen.of(view_of(), now + 500_000, active)
    active, changes = evaluator.evaluate(found, known, active, now + 500_000)
    assert not changes and [one.alert.unknown_ms for one in active.values()] == [now + 500_000]
    week = now + 500_000 + 8 * 24 * HOUR_MS
    found, known = seen.of(view_of(), week, active)
    assert [change.ended for change in evaluator.evaluate(found, known, active, week).changes] == ["gone"]


def test_fail_overs_of_the_last_hour() -> None:
    now = now_ms()
    changes = [
        Change("t", number, kind, "warn", now - age)
        for number, (kind, age) in enumerate([("fail-over", 10), ("fail-over", 2 * HOUR_MS), ("gave up", 1)])
    ]
    figures = subjects(view_of(row()), *changes)["task", "t"].figures
    assert (figures["failovers_1h"], figures["gave_up_1h"]) == (1, 1)


def test_increases() -> None:
    increases = Increases()

    def note(value: int, at: int) -> int | None:
        return increases.note("t", "dead letters", value, at)

    assert note(7, 0) is None, "what was before the start is not known"
    assert note(7, 1000) is None
    assert note(9, 2000) == 2
    assert note(9, HOUR_MS + 1000) == 2
    assert note(9, HOUR_MS + 2000) == 0
    assert note(3, HOUR_MS + 3000) == 0, "a task that was created again"
    assert note(4, HOUR_MS + 4000) == 1
    increases.forget([])
    assert note(4, HOUR_MS + 5000) is None


def test_a_night_fires_what_it_should() -> None:
    bus = night()
    view = build(SnapshotReader(bus.session(), bus.layout).read(), SnapshotHistory(), bus.layout.root)
    active: dict[Key, Active] = {}
    evaluator, now = Evaluator(shipped()), now_ms()
    seen = Subjects(lambda task: ())
    for after in range(0, 400, 10):
        found, known = seen.of(view, now + after * 1000, active)
        active, _ = evaluator.evaluate(found, known, active, now + after * 1000)
    firing = {(one.rule, one.name) for one in active.values() if one.firing}
    for task in view.tasks:
        failed = task.state in ("FAILED", "UNREADABLE")
        assert (("BusTaskFailed", task.name) in firing) == failed
        assert (("BusLag", task.name) in firing) == (task.lag_s is not None and task.lag_s > 30)
    assert any(rule == "BusMachineGone" for rule, _ in firing)
