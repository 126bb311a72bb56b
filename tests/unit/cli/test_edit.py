"""`task edit` with scripts as editors, and the merge of two changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.cli.task.edit_lock import EditLock
from replicator.cli.task.merge import has_markers, merge
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"
THREE = ("base", "your text", "version 2")


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK + "labels: {env: prod, team: shop}\n")
    return world


class Editor:
    """Runs one Python statement per call, with `text` of the file; later calls leave the file as it is."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch

    def does(self, *statements: str) -> None:
        script = self._folder / "editor.py"
        lines = [
            "import pathlib, sys, urllib.request",
            f"log = pathlib.Path({str(self._folder)!r})",
            "file = pathlib.Path(sys.argv[1])",
            "count = len(list(log.glob('seen*')))",
            "text = file.read_text()",
            "(log / f'seen{count}').write_text(text)",
        ]
        for number, statement in enumerate(statements):
            lines.append(f"if count == {number}: {statement}")
        lines.append("file.write_text(text)")
        script.write_text("\n".join(lines))
        self._monkeypatch.delenv("VISUAL", raising=False)
        self._monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
        self._monkeypatch.setenv("TMPDIR", str(self._folder))
        self._monkeypatch.setattr("tempfile.tempdir", str(self._folder))

    def seen(self, number: int) -> str:
        return (self._folder / f"seen{number}").read_text()

    def kept(self) -> list[Path]:
        return list(self._folder.glob("replicator-edit-*"))


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    return Editor(tmp_path, monkeypatch)


def port(world: World) -> int:
    return int(world.http.get(f"/tasks/{NAME}").json()["config"]["source"]["port"])


def test_an_edit_is_applied_and_leaves_no_file(cli: Cli, made: World, editor: Editor) -> None:
    editor.does("text = text.replace('3306', '3307')")
    result = cli("task", "edit", NAME, "--reason", "moved")
    assert (result.exit_code, result.stdout) == (0, f"{NAME} configured\n"), result.stderr
    assert port(made) == 3307 and editor.kept() == []
    assert editor.seen(0).startswith(f"#: Task {NAME}, version 0.") and "checkpoint_interval_ms" not in editor.seen(0)
    assert made.http.get(f"/tasks/{NAME}/versions").json()["items"][-1]["reason"] == "moved"


@pytest.mark.parametrize("statement", ["pass", "text = ''"])
def test_nothing_saved_cancels(cli: Cli, made: World, editor: Editor, statement: str) -> None:
    editor.does(statement)
    assert cli("task", "edit", NAME).stdout == f"{NAME} not changed\n"
    assert port(made) == 3306 and editor.kept() == []


def test_an_editor_that_crashes_after_saving_loses_nothing(cli: Cli, made: World, editor: Editor) -> None:
    editor.does("file.write_text(text.replace('3306', '3307')); sys.exit(9)")
    result = cli("task", "edit", NAME)
    (kept,) = editor.kept()
    assert result.exit_code == 1 and "E5091" in result.stderr and "port: 3307" in kept.read_text()
    assert port(made) == 3306


def test_problems_are_shown_as_comments_and_can_be_corrected(cli: Cli, made: World, editor: Editor) -> None:
    editor.does("text = text.replace('port:', 'prot:')", "text = text.replace('prot: 3306', 'port: 3309')")
    assert cli("task", "edit", NAME).exit_code == 0
    assert "#: E1002" in editor.seen(1) and "prot: 3306" in editor.seen(1)
    assert port(made) == 3309 and editor.kept() == []


def test_saving_the_same_problem_again_ends_and_keeps_the_text(cli: Cli, made: World, editor: Editor) -> None:
    editor.does("text = text.replace('port:', 'prot:')")
    result = cli("task", "edit", NAME)
    (kept,) = editor.kept()
    assert result.exit_code == 1 and "E1002" in result.stderr and str(kept) in result.stderr
    assert "prot: 3306" in kept.read_text() and port(made) == 3306


def test_the_server_s_refusal_is_shown_as_well(cli: Cli, made: World, editor: Editor) -> None:
    editor.does("text = text.replace('type: mysql', 'type: mariadb')", "text = text.replace('mariadb', 'mysql')")
    assert cli("task", "edit", NAME).stdout == f"{NAME} not changed\n"
    assert "#: E1009" in editor.seen(1)


def test_another_name_is_refused(cli: Cli, made: World, editor: Editor) -> None:
    editor.does(f"text = text.replace('{NAME}', 'other')")
    assert "E1009" in cli("task", "edit", NAME).stderr


@pytest.mark.parametrize("command", ["false", "no-such-editor-here", "'"])
def test_an_editor_that_fails_changes_nothing(
    cli: Cli, made: World, editor: Editor, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    editor.does("pass")
    monkeypatch.setenv("EDITOR", command)
    assert cli("task", "edit", NAME).exit_code in (1, 2)
    assert port(made) == 3306 and editor.kept() == []


def rival(world: World, change: tuple[str, str]) -> str:
    """A statement that replaces the configuration while the editor is open."""
    text = (TASK + "labels: {env: prod, team: shop}\n").replace(*change)
    url, token = f"{world.bus.url}/api/v1/tasks/{NAME}", world.http.headers["authorization"]
    request = f"urllib.request.Request({url!r}, {text.encode()!r}, {{'authorization': {token!r}}}, method='PUT')"
    return f"urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open({request})"


def test_changes_of_two_people_are_merged(cli: Cli, made: World, editor: Editor) -> None:
    theirs = rival(made, ("shop.*", "shop.orders"))
    editor.does(f"text = text.replace('env: prod', 'env: dev'); {theirs}")
    assert cli("task", "edit", NAME).stdout == f"{NAME} configured\n"
    assert "Both changes are merged" in editor.seen(1) and "shop.orders" in editor.seen(1)
    config = made.http.get(f"/tasks/{NAME}").json()["config"]
    assert config["labels"]["env"] == "dev" and "shop.orders" in config["source"]["tables"]


def test_a_conflict_shows_base_theirs_and_yours(cli: Cli, made: World, editor: Editor) -> None:
    theirs = rival(made, ("env: prod", "env: test"))
    editor.does(f"text = text.replace('env: prod', 'env: dev'); {theirs}")
    result = cli("task", "edit", NAME)
    shown = editor.seen(1)
    base = "<<<<<<< your text\n  env: dev\n||||||| version 0\n  env: prod\n"
    assert f"{base}=======\n  env: test\n>>>>>>> version 1" in shown
    assert result.exit_code == 1 and "markers of a conflict" in result.stderr
    (kept,) = editor.kept()
    assert "env: dev" in kept.read_text(), "nothing is lost"
    assert made.http.get(f"/tasks/{NAME}").json()["config"]["labels"]["env"] == "test"


def test_a_task_that_was_deleted_meanwhile_keeps_the_text(cli: Cli, made: World, editor: Editor) -> None:
    url, token = f"{made.bus.url}/api/v1/tasks/{NAME}", made.http.headers["authorization"]
    request = f"urllib.request.Request({url!r}, headers={{'authorization': {token!r}}}, method='DELETE')"
    gone = f"urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open({request})"
    editor.does(f"text = text.replace('3306', '3307'); {gone}")
    result = cli("task", "edit", NAME)
    assert result.exit_code == 3 and len(editor.kept()) == 1


LINES = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(LINES, LINES)
def test_a_change_of_one_side_is_taken(base: str, changed: str) -> None:
    assert merge(base, changed, base, THREE) == (changed, 0)
    assert merge(base, base, changed, THREE) == (changed, 0)
    assert merge(base, changed, changed, THREE) == (changed, 0)


@given(LINES, LINES, LINES)
def test_a_merge_is_without_markers_or_says_so_and_loses_no_line(base: str, yours: str, theirs: str) -> None:
    merged = merge(base, yours, theirs, THREE)
    assert has_markers(merged.text) == (merged.conflicts > 0)
    new = {line for text in (yours, theirs) for line in text.split() if line not in base.split()}
    assert new <= set(merged.text.split())


def test_an_edit_does_not_leave_the_selector_of_the_login(
    cli: Cli, made: World, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.http.post("/tasks", content=TASK.replace(NAME, "hidden") + "labels: {env: test}\n")
    wanted = {"name": "prod", "role": "admin", "selector": "env=prod"}
    monkeypatch.setenv("REPLICATOR_TOKEN", made.http.post("/tokens", json=wanted).json()["token"]["secret"])
    editor.does("text = text.replace('3306', '3307')")
    assert cli("task", "edit", NAME).exit_code == 0 and port(made) == 3307
    for old in editor._folder.glob("seen*"):
        old.unlink()
    editor.does("text = text.replace('env: prod', 'env: test')")
    refused = cli("task", "edit", NAME)
    assert refused.exit_code != 0 and "E5072" in refused.stderr and editor.kept()
    assert made.http.get(f"/tasks/{NAME}").json()["config"]["labels"] == {"env": "prod", "team": "shop"}
    hidden = cli("task", "edit", "hidden")
    assert hidden.exit_code == 3 and "E5003" in hidden.stderr and "env" not in hidden.stderr


def lock(world: World, method: str = "PUT", host: str = "desk", **more: str) -> str:
    """A statement with the lock of another process of that host."""
    import json

    url, token = f"{world.bus.url}/api/v1/tasks/{NAME}/edit", world.http.headers["authorization"]
    body = json.dumps({"host": host, "pid": "7", **more}).encode()
    request = f"urllib.request.Request({url!r}, {body!r}, {{'authorization': {token!r}}}, method={method!r})"
    return f"urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open({request})"


def test_a_second_person_sees_who_edits(cli: Cli, made: World, editor: Editor) -> None:
    editor.does("text = text.replace('3306', '3307')")
    made.http.put(f"/tasks/{NAME}/edit", json={"host": "desk", "pid": "7"})
    result = cli("task", "edit", NAME)
    assert result.exit_code == 4 and "E4077" in result.stderr and "on desk, since 20" in result.stderr
    assert port(made) == 3306 and editor.kept() == []
    assert cli("task", "edit", NAME, "--force").exit_code == 0
    assert port(made) == 3307 and made.http.get(f"/tasks/{NAME}/edit").json()["held"] is False


def test_waits_for_the_other_one(cli: Cli, made: World, editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    editor.does("text = text.replace('3306', '3307')")
    made.http.put(f"/tasks/{NAME}/edit", json={"host": "desk", "pid": "7"})

    def end(_: float) -> None:
        made.http.request("DELETE", f"/tasks/{NAME}/edit", json={"host": "desk", "pid": "7"})

    monkeypatch.setitem(EditLock.__init__.__kwdefaults__ or {}, "pause", end)
    result = cli("task", "edit", NAME, "--wait", "1m")
    assert result.exit_code == 0 and "Waiting: task 'copy_hot_item' is being edited" in result.stderr
    assert port(made) == 3307


def test_a_lock_that_was_taken_keeps_the_text(cli: Cli, made: World, editor: Editor) -> None:
    editor.does(f"text = text.replace('3306', '3307'); {lock(made, force='true')}")
    result = cli("task", "edit", NAME)
    (kept,) = editor.kept()
    assert result.exit_code == 4 and "E4077" in result.stderr and "port: 3307" in kept.read_text()
    assert port(made) == 3306


def test_a_lock_that_was_lost_and_is_free_is_taken_again(cli: Cli, made: World, editor: Editor) -> None:
    taken_and_ended = f"{lock(made, force='true')}; {lock(made, 'DELETE')}"
    editor.does(f"text = text.replace('3306', '3307'); {taken_and_ended}")
    assert cli("task", "edit", NAME).exit_code == 0 and port(made) == 3307
