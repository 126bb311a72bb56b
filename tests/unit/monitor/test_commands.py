"""Commands to copy: a shell runs exactly what is meant, and no secret is in them."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from click.testing import CliRunner

from monitor.actions import preview
from monitor.actions.catalog import OF_MACHINE, OF_TASK, rights_of
from monitor.actions.plan import chosen, commands, seen_of_task
from monitor.commands import segment
from replicator.cli.main import main
from replicator.model.principal import Principal, Role

ODD = ("orders", "a b", "it's", '"; rm -rf / #', "$(id)", "`id`", "-x", "a/b", "50%", "\u00e4\u2028")
ARGUMENTS = {
    "to": {"to": "host b"},
    "table": {"table": "shop.it's"},
    "position": {"file": "bin log", "offset": "4"},
    "": {},
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("action", [*OF_TASK, *OF_MACHINE], ids=lambda action: action.name)
def test_names_are_quoted(action: Any, name: str) -> None:
    made = commands(action, name, ARGUMENTS[action.choice], "it's time", "https://bus:8080", 3)
    words = shlex.split(made.cli)
    assert words[0] == "replicator" and name in words and "https://bus:8080" in words
    assert ("it's time" in words) == ("it's time" in made.curl.replace("'\"'\"'", "'")) == action.reasoned
    curl = shlex.split(made.curl)
    assert (
        curl[0] == "curl"
        and curl[-1]
        == f"https://bus:8080/api/v1/{'machines' if action.of_machine else 'tasks'}/{segment(name)}/{action.verb}"
    )
    assert 'If-Match: "3"' in curl and "Authorization: Bearer $REPLICATOR_TOKEN" in curl


@pytest.mark.parametrize("action", [*OF_TASK, *OF_MACHINE], ids=lambda action: action.name)
@pytest.mark.parametrize("name", ["orders", "-x"])
def test_the_command_line_understands_them(action: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the Server is there: what fails is the connection, not the usage."""
    monkeypatch.setenv("REPLICATOR_TOKEN", "x")
    words = shlex.split(commands(action, name, ARGUMENTS[action.choice], "why", "http://127.0.0.1:9").cli)[1:]
    result = CliRunner().invoke(main, words, standalone_mode=False)
    assert getattr(result.exception, "code", result.exception) == "E5005", result.output


def test_without_a_server_the_address_is_a_variable() -> None:
    made = commands(OF_TASK[0], "orders", {}, "", "")
    assert made.cli == "replicator task pause orders"
    assert made.curl.endswith(' "$REPLICATOR_SERVER"/api/v1/tasks/orders/pause')


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"target": "latest"}, {"begin": "latest"}),
        ({"target": "earliest", "file": "left over"}, {"begin": "earliest"}),
        ({"target": "transaction_start"}, {"transaction_start": "true"}),
        ({"target": "at", "at": " 2026-11-20 03:00 "}, {"at": "2026-11-20 03:00"}),
        ({"target": "gtid", "gtid": "u:1-5"}, {"gtid": "u:1-5"}),
        ({"target": "file", "file": "b.1", "offset": "4"}, {"file": "b.1", "offset": "4"}),
    ],
)
def test_positions(given: dict[str, str], arguments: dict[str, str]) -> None:
    position = next(action for action in OF_TASK if action.choice == "position")
    assert chosen(position, given).arguments == arguments and not chosen(position, given).missing
    for part in (
        {},
        {"target": "file", "file": "b.1"},
        {"target": "at", "at": " "},
        {"target": "gtid"},
        {"target": "x"},
    ):
        assert chosen(position, part).missing


def test_what_a_decision_is_based_on() -> None:
    """Figures that change by themselves are no part of it."""
    task: dict[str, Any] = {
        "uid": "u" * 32, "version": 3, "state": "running", "desired": "running", "host": "a", "epoch": 5,
        "position": "b.1:4", "problems": [], "quarantined": [], "lag_s": 0.1,
    }  # fmt: skip
    seen = seen_of_task(task)
    for same in ({"lag_s": 5.0}, {"position": "b.1:99"}, {"problems": [{"code": "E1"}]}):
        assert seen_of_task({**task, **same}) == seen, "while it runs"
    for other in ({"uid": "v" * 32}, {"version": 4}, {"state": "paused"}, {"desired": "paused"}, {"host": "b"},
                  {"epoch": 6}, {"quarantined": [{"table": "s.t", "until": ""}]}):  # fmt: skip
        assert seen_of_task({**task, **other}) != seen
    still = {**task, "state": "failed"}
    assert seen_of_task({**still, "position": "b.1:99"}) != seen_of_task(still)
    assert seen_of_task({**still, "problems": [{"code": "E1"}]}) != seen_of_task(still)


@pytest.mark.parametrize(
    ("role", "selector", "rights"),
    [
        ("viewer", "", (False, False, False)),
        ("operator", "", (True, True, False)),
        ("operator", "team=red", (True, False, False)),
        ("admin", "", (True, True, True)),
        ("admin", "team=red", (True, False, False)),
    ],
)
def test_rights(role: Role, selector: str, rights: tuple[bool, bool, bool]) -> None:
    found = rights_of("http://s", Principal("ann", role, selector, "user"), in_session=True, offered=False)
    assert (found.may_act, found.may_drain, found.may_audit) == rights and not found.may_log_in
    for no_server, in_session in (("", True), ("http://s", False)):
        none = rights_of(no_server, Principal("ann", role, selector, "user"), in_session=in_session, offered=False)
        assert not (none.may_act or none.may_drain or none.may_audit)
    assert rights_of("http://s", None, in_session=False, offered=True).may_log_in
    assert not rights_of("", None, in_session=False, offered=True).may_log_in


def test_previews_say_what_it_costs() -> None:
    task = {"state": "running", "desired": "running", "host": "a", "position": "b.1:4", "retention_headroom_s": 7200.0}
    pause = next(action for action in OF_TASK if action.name == "pause")
    lines = preview.of_task(pause, task, {})
    assert [line.tone for line in lines] == ["", "", "warn"] and "for 2 h" in lines[2].text.replace("120 min", "2 h")
    again = preview.of_task(pause, {**task, "desired": "paused", "desired_by": "ann", "desired_reason": "why"}, {})
    assert [line.text for line in again] == ["Nothing would change: it was paused already by ann (why)."]
    drain = OF_MACHINE[0]
    many = {"tasks": {f"t{number:02}": "running" for number in range(12)} | {"s": "standby"}}
    lines = preview.of_machine(drain, many)
    assert "12 tasks: t00, " in lines[0].text and "and 2 more" in lines[0].text and "1 task: s" in lines[1].text
    assert preview.of_machine(drain, {})[0].text == "It runs no task."
