"""The thread that evaluates, its file, and a restart of the Monitor."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from monitor.alerts.rules_of_file import RulesOfFile
from monitor.alerts.service import Alerts
from monitor.alerts.store import KEPT, AlertStore, beside
from monitor.alerts.subjects import Subjects
from monitor.view import View
from replicator.alerts.silence import Matchers, Silence
from replicator.errors import ProcessError
from tests.unit.monitor.alerts.test_subjects import row, view_of

NOW = 1_800_000_000_000


class Rig:
    """A Monitor's alerts over views that the test chooses."""

    def __init__(self, path: Path | None = None, rules: Path | None = None, now: int = NOW) -> None:
        self.now = now
        self.view = view_of(row(state="FAILED"))
        self.store = AlertStore(path)
        self.alerts = Alerts(
            lambda: self.view, Subjects(lambda task: ()), RulesOfFile(rules), self.store, clock=lambda: self.now
        )

    def step(self, passed: int = 1000, **more: object) -> list[str]:
        """Rules that fire then."""
        self.now += passed
        self.view = msgspec.structs.replace(self.view, **more)
        self.alerts.step()
        return [one.rule for one in self.alerts.view.firing]


def test_firing_alerts_keep_their_start_over_a_restart(tmp_path: Path) -> None:
    first = Rig(tmp_path / "alerts.sqlite")
    assert first.step() == ["BusTaskFailed"]
    began = first.alerts.view.firing[0].fired_ms
    first.store.close()  # killed: nothing was stopped in order
    second = Rig(tmp_path / "alerts.sqlite", now=NOW + 3_600_000)
    second.view = View(root="/x", stale_since_ms=1, connecting=True)
    second.step()
    second.view = view_of(row(state="FAILED"))
    assert second.step() == ["BusTaskFailed"]
    assert second.alerts.view.firing[0].fired_ms == began
    assert second.step(tasks=(row(),)) == []
    assert [(one.rule, one.how, one.fired_ms) for one in second.alerts.view.past] == [
        ("BusTaskFailed", "resolved", began)
    ]
    second.store.close()
    third = Rig(tmp_path / "alerts.sqlite", now=NOW + 7_200_000)
    third.step(tasks=(row(),))
    assert len(third.alerts.view.past) == 1
    third.store.close()


def test_a_task_that_was_deleted_while_no_monitor_ran(tmp_path: Path) -> None:
    first = Rig(tmp_path / "alerts.sqlite")
    first.step()
    first.store.close()
    second = Rig(tmp_path / "alerts.sqlite", now=NOW + 3_600_000)
    assert second.step(tasks=()) == []
    assert [one.how for one in second.alerts.view.past] == ["gone"]


def test_the_outage_of_zookeeper_has_its_alert_and_freezes_the_others() -> None:
    rig = Rig()
    assert rig.step() == ["BusTaskFailed"]
    for _ in range(31):
        rig.step(stale_since_ms=1)
    assert rig.step() == ["BusTaskFailed", "BusZooKeeperAway"]
    failed = rig.alerts.view.firing[0]
    assert failed.unknown_ms and failed.fired_ms
    assert rig.step(stale_since_ms=None) == ["BusTaskFailed"]
    assert rig.alerts.view.firing[0].unknown_ms == 0


def silence(**more: object) -> Silence:
    values = {"id": "0123456789ab", "matchers": Matchers(task="t"), "until_ms": NOW + 10_000, "by": "x", "reason": "y"}
    return Silence(**{**values, "created_ms": NOW, **more})  # type: ignore[arg-type]


def test_silenced_alerts_are_shown_and_not_loud() -> None:
    rig = Rig()
    rig.step(silences=(silence(),))
    view = rig.alerts.view
    assert [one.silenced_by for one in view.firing] == ["0123456789ab"] and not view.loud
    assert [(one.id, one.alerts, one.matchers) for one in view.silences] == [("0123456789ab", 1, "task t")]
    marked = rig.alerts.marked(rig.view)
    assert (marked.alerts, marked.alerts_silenced) == ((), 1)
    rig.step(10_000)
    assert rig.alerts.view.loud and not rig.alerts.view.silences


def test_silences_hold_while_zookeeper_is_away() -> None:
    rig = Rig()
    rig.step(silences=(silence(),))
    rig.view = View(root="/x", stale_since_ms=1)
    rig.step()
    assert not rig.alerts.view.loud and rig.alerts.view.firing


def test_rules_are_read_again_and_a_bad_file_leaves_the_former_ones(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("rules: []")
    rig = Rig(rules=path)
    assert rig.step() == ["BusTaskFailed"]
    path.write_text("rules: [{name: BusTaskFailed, when: lag}]")
    assert rig.step() == ["BusTaskFailed"]
    assert "line 1" in rig.alerts.view.rules_problem
    path.write_text("rules: [{name: BusTaskFailed, disabled: true}]")
    assert rig.step() == [] and not rig.alerts.view.rules_problem
    assert [one.how for one in rig.alerts.view.past] == ["rule removed"]
    path.unlink()
    assert rig.step() == [] and "can't be read" in rig.alerts.view.rules_problem


def test_a_monitor_does_not_start_with_rules_that_are_not_valid(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("rules: 1")
    with pytest.raises(ProcessError, match="E5180"):
        RulesOfFile(tmp_path / "rules.yaml")


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "alerts.sqlite")
    rig.store.close()
    rig.step()
    rig.step()
    assert rig.alerts.problem and rig.alerts.view.problem
    assert [one.rule for one in rig.alerts.view.firing] == ["BusTaskFailed"]


def test_a_damaged_file_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "alerts.sqlite"
    path.write_bytes(b"no database" * 1000)
    rig = Rig(path)
    assert rig.step() == ["BusTaskFailed"]
    assert list(tmp_path.glob("*.damaged"))


def test_ended_alerts_are_bounded(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "alerts.sqlite")
    for _ in range(3):
        rig.step(tasks=(row(state="FAILED"),))
        rig.step(tasks=(row(),))
    with sqlite3.connect(tmp_path / "alerts.sqlite") as database:
        database.execute("UPDATE ended SET id = id + ?", (KEPT,))
    rig.step(tasks=(row(state="FAILED"),))
    rig.step(tasks=(row(),))
    assert len(rig.store.past(10)) == 4
    with sqlite3.connect(tmp_path / "alerts.sqlite") as database:
        database.execute("UPDATE ended SET id = id + ? WHERE id > ?", (KEPT, KEPT + 3))
    rig.step(tasks=(row(state="FAILED"),))
    rig.step(tasks=(row(),))
    assert len(rig.store.past(10)) == 2


def test_beside() -> None:
    assert beside(Path("/x/monitor.ab12.sqlite")) == Path("/x/monitor.ab12.alerts.sqlite")
    assert beside(None) is None
