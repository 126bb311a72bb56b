"""Programs that tasks may run: those of the host's operator, and for a bounded time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from replicator.host import access, commands, files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "commands"
    made.mkdir()
    return made


def program(folder: Path, text: str, mode: int = 0o755) -> str:
    path = folder / "token"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return str(path)


def test_what_it_prints_without_blanks_around_it(folder: Path) -> None:
    assert commands.output([program(folder, 'echo " $1$2 "; echo secret >&2'), "a b", ";id"], [folder]) == "a b;id"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo t0ken; exit 3", "status 3"),
        ("kill -9 $$", "status -9"),
        ("printf '\\377'", "not UTF-8"),
        ("head -c 70000 /dev/zero", "more than 65536 bytes"),
    ],
)
def test_what_fails_shows_nothing_of_its_output(folder: Path, text: str, said: str) -> None:
    with pytest.raises(commands.CommandFailed) as caught:
        commands.output([program(folder, text)], [folder])
    assert said in str(caught.value) and "t0ken" not in str(caught.value)


def test_one_that_does_not_end_is_killed_with_its_children(folder: Path, tmp_path: Path) -> None:
    command = program(folder, f"(sleep 2; touch {tmp_path / 'alive'}) & sleep 60")
    begun = time.monotonic()
    with pytest.raises(commands.CommandFailed, match="not ended"):
        commands.output([command], [folder], seconds=0.3)
    assert time.monotonic() - begun < 20
    time.sleep(2.2)
    assert not (tmp_path / "alive").exists()


def test_only_programs_in_the_directories_for_it(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outside = program(elsewhere, "echo")
    (folder / "link").symlink_to(outside)
    for path in (outside, str(folder / "link"), "token", str(folder / ".." / "elsewhere" / "token")):
        with pytest.raises(files.NotAllowed):
            commands.output([path], [folder])
    with pytest.raises(files.NotAllowed):
        commands.output([outside], access.commands_directories())
    for broken in (program(folder, "echo", 0o644), str(folder / "missing"), str(folder)):
        with pytest.raises(files.NotUsable):
            commands.output([broken], [folder])


def test_the_token_of_the_servers_api_is_not_passed_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLICATOR_TOKEN", "of the API")
    monkeypatch.setenv("REPL_OTHER_TASK", "of another task")
    monkeypatch.setenv("REPLICATOR_ZOOKEEPER_PASSWORD", "of the Core")
    monkeypatch.setenv("OTHER", "is there")
    command = program(folder, 'echo "[$REPLICATOR_TOKEN$REPL_OTHER_TASK$REPLICATOR_ZOOKEEPER_PASSWORD] $OTHER"')
    assert commands.output([command], [folder]) == "[] is there"


def test_the_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(access.COMMANDS_DIRECTORY, raising=False)
    assert access.commands_directories() == ()
    monkeypatch.setenv(access.COMMANDS_DIRECTORY, "/a:relative:/b")
    assert access.commands_directories() == (Path("/a"), Path("/b"))
