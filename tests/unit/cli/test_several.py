"""Commands about several tasks: names, patterns, states, files; the outcome of each; suggestions; closed input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from replicator.cli import terminal
from replicator.cli.task.selection import Choice
from replicator.cli.task.watch import Feed, Shown, tasks_screen
from replicator.coordination.tasks.status import Status
from replicator.errors import ProcessError, ReplicatorError
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAMES = ("shop_a", "shop_b", "crm")


def text(name: str) -> str:
    return TASK.replace("copy_hot_item", name)


@pytest.fixture
def three(world: World) -> World:
    for name in NAMES:
        world.http.post("/tasks", content=text(name))
    core = world.core("host-a")
    core.stand("shop_a", "running")
    core.stand("shop_b", "failed", error={"code": "E2101", "what": "wrong password"})
    return world


def desired(world: World) -> dict[str, str]:
    return {item["name"]: item["desired"] for item in world.http.get("/tasks").json()["items"]}


def test_a_pattern_and_a_state_choose_tasks(cli: Cli, three: World) -> None:
    assert cli("task", "get", "shop_*", "-o", "name").stdout == "shop_a\nshop_b\n"
    assert cli("task", "get", "--state", "failed", "-o", "name").stdout == "shop_b\n"
    assert cli("task", "pause", "shop_*").stdout == "shop_a pausing\nshop_b pausing\n"
    assert desired(three) == {"crm": "running", "shop_a": "paused", "shop_b": "paused"}
    assert cli("task", "retry", "--state", "failed").stdout == "shop_b retrying\n"
    listed = json.loads(cli("task", "describe", "crm", "shop_a", "-o", "json").stdout)
    assert [item["name"] for item in listed["items"]] == ["crm", "shop_a"]


def labelled(world: World, name: str, **labels: str) -> None:
    text_of = f"{text(name)}labels: {json.dumps(labels)}\n"
    assert world.http.put(f"/tasks/{name}", content=text_of).status_code == 200


def test_labels_choose_tasks(cli: Cli, three: World) -> None:
    labelled(three, "shop_a", env="prod", team="shop")
    labelled(three, "shop_b", env="prod")
    assert cli("task", "get", "-l", "env=prod", "-o", "name").stdout == "shop_a\nshop_b\n"
    assert cli("task", "get", "s*", "-l", "env,!team", "-o", "name").stdout == "shop_b\n"
    assert cli("task", "get", "-l", "env=none").stderr == "No task is labelled env=none.\n"
    assert "env=prod,team=shop" in cli("task", "get", "-o", "wide").stdout
    assert "Labels:      env=prod,team=shop" in cli("task", "describe", "shop_a").stdout
    assert cli("task", "pause", "-l", "env=prod", "--state", "running").stdout == "shop_a pausing\n"
    assert desired(three) == {"crm": "running", "shop_a": "paused", "shop_b": "running"}
    for verb in ("pause", "resume", "retry", "delete", "switchover", "wait", "describe"):
        result = cli("task", verb, "-l", "env=none")
        assert (result.exit_code, result.stdout) == (3, ""), verb
        assert "no such task is labelled env=none" in result.stderr
        assert cli("task", verb, "-l", "").exit_code == 1, "an empty variable is not all tasks"
    items = three.http.get("/tasks", params={"selector": "env=prod,team!=shop"}).json()["items"]
    assert [(item["name"], item["labels"]) for item in items] == [("shop_b", {"env": "prod"})]
    refused = three.http.get("/tasks", params={"selector": ""})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "E1031")


def test_wanted_and_actual_are_shown_apart(cli: Cli, three: World) -> None:
    cli("task", "pause", "*")
    rows = {row.split()[0]: " ".join(row.split()[1:]) for row in cli("task", "get").stdout.splitlines()}
    assert rows["crm"].startswith("paused wanted, absent")
    assert rows["shop_a"].startswith("paused wanted, running")
    assert rows["shop_b"].startswith("paused wanted, failed E2101")
    assert "State:       paused wanted, running" in cli("task", "describe", "shop_a").stdout


def test_what_matches_nothing_is_an_error(cli: Cli, three: World) -> None:
    for arguments in (["pause", "shop_*", "x*"], ["get", "x*"], ["retry", "crm", "--state", "failed"]):
        result = cli("task", *arguments)
        assert (result.exit_code, result.stdout) == (3, ""), arguments
        assert "E5003" in result.stderr
    assert set(desired(three).values()) == {"running"}


@pytest.mark.parametrize("verb", ["get", "describe", "pause", "resume", "retry", "delete", "switchover", "history"])
def test_an_empty_name_is_wrong_usage(cli: Cli, three: World, verb: str) -> None:
    result = cli("task", verb, "")
    assert result.exit_code == 2 and "empty" in result.stderr and result.stdout == ""


def test_one_error_does_not_hide_the_others(cli: Cli, three: World) -> None:
    result = cli("task", "retry", "shop_a", "shop_b", "crm")
    assert (result.exit_code, result.stdout) == (4, "shop_b retrying\n")
    assert "shop_a: E5007" in result.stderr and "crm: E5007" in result.stderr
    assert "2 of 3 failed: shop_a, crm" in result.stderr
    assert cli("task", "retry", "nobody", "shop_a").exit_code == 1, "statuses 3 and 4"


def test_several_are_deleted_after_one_question(cli: Cli, three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("task", "delete", "crm", "c*").exit_code == 2
    monkeypatch.setattr("replicator.cli.task.ask.interactive", lambda: True)
    refused = cli("task", "delete", "c*", input="n\n")
    assert refused.exit_code == 4 and refused.stderr.startswith("crm\nDelete the 1 task above")
    assert "crm" in desired(three)
    closed = cli("task", "delete", "c*", input="")
    assert closed.exit_code == 2 and "Standard input was closed" in closed.stderr
    assert cli("task", "delete", "c*", input="y\n").stdout.endswith("crm deleted\n")  # after the Server's log


def test_what_was_changed_after_the_question_is_not_deleted(
    cli: Cli, three: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replicator.cli.task.ask.interactive", lambda: True)
    change = text("crm").replace("3306", "3307")

    def confirmed(*_: object, **__: object) -> bool:
        assert three.http.put("/tasks/crm", content=change).status_code == 200
        return True

    monkeypatch.setattr("replicator.cli.task.delete.confirmed", confirmed)
    refused = cli("task", "delete", "c*")
    assert refused.exit_code == 4 and "E4006" in refused.stderr and "crm" in desired(three)
    monkeypatch.setattr("replicator.cli.task.delete.type_name", confirmed)
    change = text("crm").replace("3306", "3308")
    assert "E4006" in cli("task", "delete", "crm").stderr and "crm" in desired(three)
    assert cli("task", "delete", "crm", "-y").exit_code == 0, "who is not asked is shown nothing"


def test_pause_waits(cli: Cli, three: World) -> None:
    result = cli("task", "pause", "crm", "--wait")
    assert result.stdout == "crm paused (no Core takes part in its election)\n"
    assert cli("task", "pause", "shop_a", "--wait", "--timeout", "0.2").exit_code == 7
    assert "[default: running]" in cli("task", "wait", "--help").stdout


def test_reasons_are_in_the_history(cli: Cli, world: World, file: Path) -> None:
    cli("task", "apply", "-f", str(file), "--reason", "ticket 7")
    file.write_text(TASK.replace("3306", "3307"))
    cli("task", "apply", "-f", str(file), "--reason", "ticket 8")
    items = json.loads(cli("task", "history", "copy_hot_item", "-o", "json").stdout)["items"]
    assert [item["reason"] for item in items] == ["ticket 7", "ticket 8"]


def test_apply_takes_files_directories_and_documents(cli: Cli, world: World, tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "b.yml").write_text(text("b"))
    (folder / "a.json").write_text(json.dumps({"name": "a"} | _data("a")))
    (folder / "README.md").write_text("no task")
    many = tmp_path / "many.yaml"
    many.write_text(f"---\n{text('c')}---\n# nothing\n---\n{text('d')}")
    result = cli("task", "apply", "-f", str(folder), "-f", str(many), "-f", "-", input=text("e"))
    assert result.stdout.splitlines() == [f"{name} created" for name in "abcde"], result.stderr
    many.write_text(f"---\n{text('c').replace('mysql', 'mariadb', 1)}---\n{text('d').replace('3306', '3307')}")
    result = cli("task", "apply", "-f", str(many))
    assert (result.exit_code, result.stdout) == (4, "d configured\n") and "c: E1009" in result.stderr


def _data(name: str) -> dict[str, object]:
    import yaml

    return dict(yaml.safe_load(text(name)))


def test_apply_sends_nothing_unless_all_is_valid(cli: Cli, world: World, tmp_path: Path) -> None:
    many = tmp_path / "many.yaml"
    many.write_text(f"{text('c')}---\n{text('d').replace('port', 'prot')}---\n{text('c')}")
    result = cli("task", "apply", "-f", str(many), "-f", str(tmp_path / "none.yaml"))
    assert (result.exit_code, result.stdout) == (1, "")
    line = 5 + len(text("c").splitlines()) + 1
    assert f"many.yaml, document 2: E1002 config: source.prot is not a known key. Found: line {line}." in result.stderr
    assert "'c' is described twice" in result.stderr and "No such file" in result.stderr
    assert "No task was applied." in result.stderr and desired(world) == {}


def test_a_closed_input_has_its_own_message(world: World) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from replicator.cli.start import main; main()", "task", "apply", "-f", "-"],
        preexec_fn=lambda: __import__("os").close(0),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "standard input is closed" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("task list", "get"), ("task ls", "get"), ("task rm", "delete"), ("task status", "describe"),
        ("task stop", "pause"), ("task start", "resume"), ("status", "task describe"), ("ls", "task get"),
        ("task position show", "get"), ("task liist", "get"),
    ],
)  # fmt: skip
def test_suggestions_by_meaning(cli: Cli, typed: str, meant: str) -> None:
    result = cli(*typed.split())
    assert result.exit_code == 2 and f"Did you mean '{meant}'?" in result.stderr


def screen(
    monkeypatch: pytest.MonkeyPatch, items: list[dict[str, object]], error: ReplicatorError | None, lines: int
) -> str:
    monkeypatch.setattr(terminal, "width", lambda: 60)
    monkeypatch.setattr("replicator.cli.task.render.width", lambda: 60)
    clock = [0.0]
    feed = Feed(lambda: items, lambda: clock[0])
    feed.ask()
    clock[0], feed.error = (14.0, error) if error else (0.5, None)
    return tasks_screen(Shown(Choice(), "wide", True), "http://server").text(
        feed, silent=error is not None, lines=lines
    )


def test_a_watched_table_fits_its_screen(cli: Cli, three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    items = three.http.get("/tasks").json()["items"] * 20
    shown = screen(monkeypatch, items, None, 24).splitlines()
    assert len(shown) <= 23 and max(map(terminal.cells, shown)) <= 60
    assert shown[0].startswith("NAME") and shown[1].startswith("shop_b") and shown[-1].startswith("and 39 more: ")


def test_a_watched_table_says_that_it_is_old(cli: Cli, three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    items = three.http.get("/tasks").json()["items"]
    shown = screen(monkeypatch, items, ProcessError("E5005", "the Server can't be reached"), 24)
    assert "NO CURRENT STATE from http://server: shown as of 14s" in shown and "E5005" in shown and "shop_b" in shown


def test_a_connection_error_does_not_end_a_watch_but_others_do() -> None:
    errors: list[ReplicatorError] = [ProcessError("E5005", "away"), ProcessError("E5006", "token")]

    def fetch() -> list[dict[str, object]]:
        raise errors.pop(0)

    feed = Feed(fetch)
    feed.ask()
    assert feed.ended is None and feed.error is not None
    feed.ask()
    assert feed.ended is not None


def test_a_position_that_was_set_has_a_next_step(cli: Cli, three: World) -> None:
    Status(three.bus.coordinator, three.bus.layout).set("crm", "paused", "test")
    result = cli("task", "position", "set", "crm", "--file", "binlog.000001", "--offset", "4", "-y")
    assert result.exit_code == 0 and result.stderr.endswith("now: replicator task resume crm\n"), result.stderr
    result = cli("task", "position", "set", "shop_b", "--file", "binlog.000001", "--offset", "4", "-y")
    assert result.stderr.endswith("now: replicator task retry shop_b\n")


def test_hosts_and_keys_complete(three: World) -> None:
    from click.shell_completion import ShellComplete

    from replicator.cli.main import main

    three.core("host-b").stand("shop_a", "standby")
    shell = ShellComplete(main, {}, "replicator", "_REPLICATOR_COMPLETE")

    def words(*typed: str) -> list[str]:
        return [item.value for item in shell.get_completions(list(typed[:-1]), typed[-1])]

    assert words("task", "switchover", "shop_a", "--to", "") == ["host-b"]
    assert words("task", "switchover", "crm", "--to", "") == []
    assert words("task", "pause", "shop_a", "shop") == ["shop_b"], "not again what is given"
    assert words("explain", "sour") == ["source"] and "E3109" in words("explain", "E31")


def test_a_long_reason_is_shortened(cli: Cli, world: World, file: Path) -> None:
    assert cli("task", "apply", "-f", str(file), "--reason", "x" * 300).exit_code == 0


CHANGES = (
    "apply", "edit", "pause", "resume", "restart", "retry", "switchover", "delete", "skip", "fork", "rollback",
    "quarantine", "replay", "position set", "secret set", "snapshot start", "snapshot pause", "snapshot resume",
    "snapshot stop", "schema set",
)  # fmt: skip


@pytest.mark.parametrize("verb", CHANGES)
def test_every_verb_that_changes_something_takes_a_reason(cli: Cli, verb: str) -> None:
    assert "--reason" in cli("task", *verb.split(), "--help").stdout


def test_wait_shows_its_default(cli: Cli) -> None:
    assert "[default: running]" in cli("task", "wait", "--help").stdout
