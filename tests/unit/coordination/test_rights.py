"""Every path that the product writes has its rights."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Grant, Identity
from replicator.coordination.records import SecurityRecord, dump
from replicator.coordination.rights import FIXED, OPEN, TABLE, Guard, grants, known
from replicator.errors import CoordinationError

LAYOUT = Layout("/above/root")
SAMPLES: dict[str, Any] = {"int": 7, "str": "x", "bool": False}
NO_PATHS = {"task_name", "is_task"}


def paths() -> dict[str, str]:
    found = {}
    for name, member in inspect.getmembers(Layout):
        if name.startswith("_") or name in NO_PATHS:
            continue
        if isinstance(member, property):
            found[name] = getattr(LAYOUT, name)
            continue
        parameters = [each for each in inspect.signature(member).parameters.values() if each.name != "self"]
        given = {each.name: SAMPLES[str(each.annotation)] for each in parameters}
        found[name] = getattr(LAYOUT, name)(**given)
    return found


@pytest.mark.parametrize(("name", "path"), sorted(paths().items()))
def test_each_path_of_the_layout_has_rights(name: str, path: str) -> None:
    assert known(LAYOUT, path) is not None, f"add {path} of Layout.{name} to rights.TABLE"


def test_all_tasks_and_one_share_the_name_of_maintenance() -> None:
    assert known(LAYOUT, LAYOUT.maintenance("")) == known(LAYOUT, LAYOUT.maintenance("x"))


OF_MONITORS = (
    *("monitors", "monitors/*", "logs/parts"),
    *("alerts", "alerts/sender", "alerts/sender/*", "alerts/sent"),
)


def test_the_monitor_changes_only_what_it_says_of_itself_and_nobody_changes_an_acl() -> None:
    for path, rights in TABLE.items():
        assert rights.monitor in ("", "r") or path in OF_MONITORS, path
        assert "a" not in rights.core + rights.server + rights.agent, path


OF_AGENTS = ("agents/online", "agents/online/*", "agents/stopped", "agents/stopped/*", "expected", "logs/parts")


def test_an_agent_sees_no_task_and_writes_nothing_by_which_a_core_decides() -> None:
    for path, rights in TABLE.items():
        assert rights.agent in ("", "r") or path in OF_AGENTS, path
        assert rights.agent == "" or not path.startswith(("tasks", "machines", "stopped", "task-groups", "tokens"))
    assert TABLE["expected"].agent == "cr" and TABLE["expected/*"].agent == "r", "it forgets no machine"


def test_log_lines_are_read_and_asked_for_by_the_server_alone() -> None:
    parents, parts, requests = (TABLE[path] for path in ("logs/parts", "logs/parts/*", "logs/requests"))
    assert (parents.core, parts.core, requests.core) == ("cd", "", "r")
    assert (parents.monitor, parts.monitor, requests.monitor) == ("cd", "", "r")


def test_fixed_nodes_are_known_and_their_parents_come_first() -> None:
    for index, name in enumerate(FIXED):
        assert name in TABLE
        above = name.rpartition("/")[0]
        assert not above or above in FIXED[:index]


def test_grants_of_roles_and_of_a_path_that_is_none_of_ours() -> None:
    one, two, admin = Identity("sasl", "c"), Identity("digest", "s:h"), Identity("x509", "CN=a")
    record = SecurityRecord(core=[one], server=[two], monitor=[], admin=[admin])
    assert grants(record, LAYOUT, LAYOUT.commands("t")) == (
        Grant("digest", "s:h", "cdr"),
        Grant("sasl", "c", "dr"),
        Grant("x509", "CN=a", "cdrwa"),
    )
    assert grants(record, LAYOUT, f"{LAYOUT.root}/other/node") == (Grant("x509", "CN=a", "cdrwa"),)
    assert Grant("sasl", "c", "r") in grants(record, LAYOUT, "/above")


def test_an_identity_of_two_roles_has_the_rights_of_both() -> None:
    both = Identity("sasl", "all")
    record = SecurityRecord(core=[both], server=[both], monitor=[], admin=[])
    assert grants(record, LAYOUT, LAYOUT.commands("t")) == (Grant("sasl", "all", "cdr"),)


def test_a_process_that_requires_identities_creates_no_open_node() -> None:
    guard = Guard(LAYOUT, "core", required=True)
    with pytest.raises(CoordinationError, match="E4035"):
        guard.grants(LAYOUT.machine("h"))
    guard.learn(dump(SecurityRecord(core=[Identity("sasl", "c")])))
    assert guard.grants(LAYOUT.machine("h")) == (Grant("sasl", "c", "rw"),)
    guard.learn(None)
    with pytest.raises(CoordinationError, match="E4035"):
        guard.grants(LAYOUT.machine("h"))
    assert Guard(LAYOUT, "core").grants(LAYOUT.machine("h")) == OPEN
