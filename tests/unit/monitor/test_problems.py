"""The list of problems: one line for each cause, with since when, what it means and what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.problems.joined import MOST_CAUSES, SHOWN_NAMES, Problem, problems
from monitor.view import AddressView, MachineView, MaintenanceView, ServerView, TaskRow, View
from replicator.codes import CODES
from replicator.coordination.records import AddressFigures
from replicator.model.retrying import EFFECTS, Retrying
from tests.unit.monitor.scene import night, small
from tests.unit.monitor.test_view_builder import Eye

NOW = 1_795_721_000_000
MINUTE = 60_000


def row(name: str, **fields: Any) -> TaskRow:
    """A task that is well, unless `fields` say otherwise."""
    given_ = {
        "state": "RUNNING", "tone": "ok", "trouble": 0, "running": 1, "standbys": ("host-b",), "leads": True,
        "host": "host-a", "source": "mysql db1:3306", "destination": "t, debezium, kafka kafka-1:9092", **fields,
    }  # fmt: skip
    return TaskRow(name=name, **given_)


def listed(*tasks: TaskRow, **view: Any) -> tuple[Problem, ...]:
    return problems(View(root="/bus", read_ms=NOW, tasks=tasks, **view))


def kinds(*tasks: TaskRow, **view: Any) -> list[str]:
    return [problem.kind for problem in listed(*tasks, **view)]


def retrying(
    side: str = "sink", code: str = "E3001", since_ms: int = NOW - MINUTE, what: str = "no broker"
) -> Retrying:
    effect = EFFECTS[side]  # type: ignore[index]
    return Retrying(side=side, code=code, what=what, since_ms=since_ms, seconds=60, attempts=3, effect=effect)


def test_a_quiet_bus_has_none() -> None:
    assert problems(Eye(small()).look()) == ()
    assert problems(View(root="/bus", tasks=(row("a", state="FAILED"),))) == (), "nothing was read yet"


def test_the_night() -> None:
    found = problems(Eye(night()).look())
    assert [problem.kind for problem in found] == [
        "unreadable", "failed", "without", "lag bad", "offline", "config refused", "retention", "late consumers", "lag",
        "certificate", "maintenance", "no standby", "unconfigured",
    ]  # fmt: skip
    failed = found[1]
    assert (failed.text, failed.code) == ("billing_invoices has FAILED", "E2104")
    assert failed.commands == ("replicator task retry billing_invoices",)
    assert failed.todo.startswith("GRANT REPLICATION SLAVE") and "Consumers receive nothing" in failed.effect


def test_the_same_cause_is_one_line_since_the_first() -> None:
    tasks = [row(f"t{n:02}", retrying=retrying(since_ms=NOW - n * MINUTE), lag_s=900.0) for n in range(1, 13)]
    (problem,) = listed(*tasks)
    assert problem.text == "12 tasks cannot use kafka kafka-1:9092 and retry"
    assert (problem.code, problem.cause, problem.since_ms) == ("E3001", "no broker", NOW - 12 * MINUTE)
    assert problem.effect == EFFECTS["sink"] and problem.query == "state:retrying code:E3001"
    assert problem.commands == ("replicator task describe NAME",)
    assert problem.tone == "bad"


def test_another_server_or_code_is_another_line() -> None:
    there = row("b", retrying=retrying(), destination="t, debezium, kafka kafka-2:9092")
    other = row("c", retrying=retrying(code="E3103"))
    source = row("d", retrying=retrying("source", "E2101"))
    assert len(listed(row("a", retrying=retrying()), there, other, source)) == 4


def test_many_causes_of_one_code_are_one_line() -> None:
    errors = [{"code": "E3101", "what": f"topic t{n} does not exist"} for n in range(300)]
    few = listed(*(row(f"t{n}", state="FAILED", errors=(errors[n],)) for n in range(MOST_CAUSES)))
    assert len(few) == MOST_CAUSES
    (many,) = listed(*(row(f"t{n}", state="FAILED", errors=(errors[n],)) for n in range(300)))
    assert many.text == "300 tasks have FAILED"
    assert many.cause == "300 causes, for instance: topic t0 does not exist"


def test_its_key_stays_while_its_figures_change() -> None:
    def key(lag_s: float) -> str:
        (problem,) = listed(row("a", lag_s=lag_s))
        return problem.key

    assert key(31.0) == key(299.0) != key(301.0)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"running": 2}, "rivals"),
        ({"state": "FAILED", "standbys": ()}, "failed"),
        ({"state": "NO RUNNING", "standbys": ()}, "without"),
        ({"state": "NO RUNNING", "group": "g", "unplaced": True}, "unplaced"),
        ({"state": "STARTING", "since_ms": NOW - MINUTE}, "on the way"),
        ({"lag_s": 31.0}, "lag"),
        ({"lag_s": 301.0}, "lag bad"),
        ({"figures_old": True, "figures_age_s": 12.0, "lag_s": None}, "silent"),
        ({"config_invalid": True}, "config refused"),
        ({"retention_headroom_s": 3600.0}, "retention"),
        ({"certificate_ms": NOW - 1, "certificate": "db1"}, "certificate ended"),
        ({"certificate_ms": NOW + MINUTE, "certificate": "db1"}, "certificate"),
        ({"last_event_ms": NOW, "checkpoint_ms": NOW - 2 * MINUTE}, "checkpoint"),
        ({"late_consumers": ("'g' is late",)}, "late consumers"),
        ({"standbys": ()}, "no standby"),
        ({"maintenance": "task", "notes": ("maintenance: no standby is promoted by jan",)}, "maintenance"),
        ({"quarantined": ("shop.orders since binlog.1:4",)}, "quarantine"),
        ({"addresses": (AddressFigures(section="sink", name="a/b", wanted="k2:1", error={"code": "E4103"}),)},
         "address refused"),
    ],
)  # fmt: skip
def test_each_kind(fields: dict[str, Any], kind: str) -> None:
    assert kinds(row("a", **fields)) == [kind]


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "PAUSED", "lag_s": None, "standbys": ()},
        {"state": "STARTING", "since_ms": NOW - 1000},
        {"lag_s": 30.0},
        {"maintenance": "cluster"},
        {"retention_headroom_s": 86_400.0},
        {"certificate_ms": NOW + 15 * 86_400_000},
        {"standbys": (), "wanted_standbys": 0, "group": "g"},
        {"dead_letters": 3},
    ],
)
def test_what_is_none(fields: dict[str, Any]) -> None:
    assert kinds(row("a", **fields)) == []


def test_machines_servers_and_the_cluster() -> None:
    gone = [MachineView(host=f"h{n}", state="offline", tone="bad", since_ms=NOW - n) for n in range(5)]
    stopped = MachineView(host="h9", state="stopped", tone="idle", since_ms=NOW)
    found = listed(
        row("a"),
        machines=(*gone, stopped),
        maintenance=MaintenanceView("jan", NOW - MINUTE, "kernels"),
        servers=(ServerView("s1", "", 0, certificate_ms=NOW - 1), ServerView("s2", "", 0, certificate_problem=True)),
    )
    assert [problem.kind for problem in found] == [
        "offline", "server certificate", "server certificate not loaded", "maintenance of all",
    ]  # fmt: skip
    assert found[0].text == "5 machines are offline: they are expected and not there" and not found[0].query
    assert (found[-1].cause, found[-1].since_ms) == ("by jan: kernels", NOW - MINUTE)


def test_a_silent_machine_is_one_line_with_or_without_tasks() -> None:
    silent = MachineView(host="host-a", state="silent", tone="warn", since_ms=NOW)
    old = {"figures_old": True, "figures_age_s": 12.0}
    assert kinds(row("a"), machines=(silent,)) == ["silent machine"]
    assert kinds(row("a", **old), row("b", **old), machines=(silent,)) == ["silent"]


def test_only_addresses_that_a_visible_task_uses() -> None:
    """Logins with a selector must not learn of the others."""
    book = tuple(AddressView(name, "10.0.0.1:1", answers=False, since_ms=NOW) for name in ("shop/db", "secret/db"))
    (problem,) = listed(row("a", source="mysql ddns:shop/db"), addresses=book)
    assert problem.text == "ddns:shop/db does not answer"
    assert kinds(row("a", source="mysql ddns:shop/db-2"), addresses=book) == []


FIELDS = st.fixed_dictionaries(
    {
        "state": st.sampled_from(["RUNNING", "FAILED", "NO RUNNING", "PAUSED", "STARTING", "UNREADABLE", "DELETED"]),
        "lag_s": st.none() | st.floats(0, 1e6),
        "standbys": st.sampled_from([(), ("host-b",)]),
        "since_ms": st.sampled_from([0, NOW - MINUTE]),
        "retrying": st.none() | st.builds(retrying, side=st.sampled_from(["source", "sink", "host", ""])),
        "errors": st.sampled_from([(), ({"code": "E2104", "what": "no"},), ({},)]),
        "config_invalid": st.booleans(),
    }
)


@given(st.lists(FIELDS, max_size=12))
def test_lines_are_sorted_and_complete(fields: list[dict[str, Any]]) -> None:
    tasks = [row(f"task {n}", **each) for n, each in enumerate(fields)]
    found = listed(*tasks)
    assert list(found) == sorted(found, key=lambda each: -each.severity)
    assert len({problem.key for problem in found}) == len(found)
    down = {task.name for task in tasks if task.state in ("FAILED", "NO RUNNING", "UNREADABLE")}
    assert down <= {name for problem in found for name in problem.names}, "no task that is down is left out"
    for problem in found:
        assert problem.predicate and problem.effect and not re.search(r"[{}]", "".join(problem.commands))
        assert problem.shown if len(problem.names) <= SHOWN_NAMES else f"{len(problem.names)} tasks" in problem.text
        assert not problem.code or problem.code in CODES
