"""Which state a task is shown in, and how much trouble that is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from monitor.task_state import condition, state_of
from replicator.coordination.machines.machines import MachineNode
from replicator.coordination.overview import InstanceOverview, TaskOverview
from replicator.coordination.records import MachineRecord, TaskFigures
from replicator.model.retrying import Retrying


def instance(state: str, **more: Any) -> InstanceOverview:
    return InstanceOverview(host="h", guid="g", sequence=0, epoch=1, state=state, running=True, process="p", **more)


NOW = 1_760_000_000_000


def task(state: str = "running", standbys: int = 1, figures: TaskFigures | None = None, **more: Any) -> TaskOverview:
    first = None if state == "absent" else instance(state, figures=figures)
    waiting = [instance("standby") for _ in range(standbys)] if first else []
    given: dict[str, Any] = {
        "uid": "u",
        "config": {},
        "state": state,
        "running": first,
        "standbys": waiting,
        "figures": figures,
        "lag_s": figures.lag_s if figures else None,
    }
    return TaskOverview(name="t", **{**given, **more})


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (task("running"), "RUNNING"),
        (task("starting"), "STARTING"),
        (task("standby"), "WAITING"),
        (task("absent"), "NO RUNNING"),
        (task("failed"), "FAILED"),
        (task("failed", desired="paused"), "FAILED"),
        (task("paused", desired="paused"), "PAUSED"),
        (task("absent", desired="paused"), "PAUSED"),
        (task("running", desired="paused"), "PAUSING"),
        (task("running", desired="deleted"), "DELETING"),
        (task("absent", desired="deleted"), "DELETED"),
        (task("unconfigured", config=None), "UNCONFIGURED"),
        (task("absent", config=None), "UNCONFIGURED"),
        (task("absent", uid="", config=None), "UNREADABLE"),
        # A task that runs on while its znode holds garbage is RUNNING; the garbage is told as an error.
        (task("running", uid="", config=None), "RUNNING"),
    ],
)
def test_state(view: TaskOverview, expected: str) -> None:
    assert state_of(view) == expected


def test_a_healthy_task_is_no_trouble() -> None:
    told = condition(task(figures=TaskFigures(state="running", lag_s=0.1)), [], NOW)
    assert (told.state, told.tone, told.trouble, told.notes) == ("RUNNING", "ok", 0, ())


def test_order_of_trouble() -> None:
    lagging = TaskFigures(state="running", lag_s=31)
    ordered = [
        task("failed"),
        task("absent"),
        task(figures=TaskFigures(state="running", lag_s=301)),
        task("waiting"),
        task(figures=TaskFigures(state="running", config_error={"code": "E1001"})),
        task(figures=lagging),
        task(standbys=0),
        task("paused", desired="paused"),
        task(),
    ]
    troubles = [condition(view, [], NOW).trouble for view in ordered]
    assert troubles == sorted(troubles, reverse=True)
    assert len(set(troubles)) == len(troubles)


def test_notes_name_the_reason() -> None:
    assert condition(task(standbys=0), [], NOW).notes == ("no standby",)
    lock = {"code": "E5160", "what": "the source db1:3306 is locked for maintenance", "found": "by ann: new disks"}
    locked = condition(task("paused", desired_by="maria", problems=[lock]), [], NOW)
    assert locked.notes == ("the source db1:3306 is locked for maintenance by ann: new disks",)
    assert (locked.state, locked.tone) == ("PAUSED", "idle")
    paused = task("paused", desired="paused", desired_by="maria", desired_reason="maintenance")
    assert condition(paused, [], NOW).notes == ("paused by maria: maintenance",)
    old = TaskFigures(state="running", last_event_ms=1_000_000, checkpoint_ms=900_000)
    assert condition(task(figures=old), [], NOW).notes == ("checkpoint overdue",)


def test_a_former_leader_that_still_says_running_is_an_alarm() -> None:
    zombie = MachineRecord(
        host="z", pid=1, process="other", started_ms=0, time_ms=0, tasks={"t": TaskFigures(state="running")}
    )
    told = condition(task(), [MachineNode("z", 7, zombie)], NOW)
    assert told.running == 2
    assert told.tone == "bad"
    assert told.notes[0] == "2 Cores report RUNNING"


def test_errors_are_told_once() -> None:
    error = {"code": "E2104", "what": "grant", "found": ""}
    told = condition(task("failed", figures=TaskFigures(state="failed", error=error), problems=[error]), [], NOW)
    assert told.errors == (error,)


def test_what_a_worker_tries_again_is_told() -> None:
    retrying = Retrying(side="sink", code="E3002", what="the sink does not answer", seconds=77, attempts=2)
    told = condition(task(retrying=retrying), [], NOW)
    assert told.notes == ("retrying the sink for 77 s (E3002)",)
    assert (told.tone, told.state) == ("warn", "RUNNING")
    told = condition(task("starting", retrying=msgspec.structs.replace(retrying, side="", code="")), [], NOW)
    assert "retrying for 77 s" in told.notes


def test_figures_that_are_old_are_told() -> None:
    told = condition(task(figures_old=True, figures_age_s=7.2), [], NOW)
    assert told.notes == ("no report for 7 s",)
    assert told.trouble > condition(task(figures=TaskFigures(state="running", lag_s=31.0)), [], NOW).trouble


def test_a_lag_that_is_unknown_is_told_with_its_reason_and_is_no_trouble() -> None:
    figures = TaskFigures(state="running")
    told = condition(task(figures=figures, lag_note="the source can't be reached"), [], NOW)
    assert told.notes == ("lag unknown: the source can't be reached",)
    assert told.trouble == 0


@pytest.mark.parametrize(
    ("days", "note", "tone"),
    [
        (-0.1, "the certificate of db:3306 has expired", "warn"),
        (13, "the certificate of db:3306 expires in 13 d 0 h", "warn"),
        (14.1, "", "ok"),
        (None, "", "ok"),
    ],
)
def test_a_certificate_that_ends(days: float | None, note: str, tone: str) -> None:
    end = int(NOW + days * 86_400_000) if days is not None else 0
    told = condition(task(figures=TaskFigures(state="running", certificate_ms=end, certificate="db:3306")), [], NOW)
    assert (told.tone, [text for text in told.notes if text.startswith(note or "the")]) == (
        tone,
        [note] if note else [],
    )


def test_consumers_that_lose_records() -> None:
    late = {"a": "'a' has lost 3 records of t/0", "b": "'b' is about to lose 1 records of t/0"}
    told = condition(task(figures=TaskFigures(state="running", late_consumers=late)), [], NOW)
    assert told.tone == "warn"
    assert told.notes == ("consumer 'a' has lost 3 records of t/0, and 1 more",)
