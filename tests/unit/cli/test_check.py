"""`replicator check` as text: what a terminal, a pipe and a program get."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from replicator.cli import check
from replicator.cli.terminal import cells
from replicator.config.load import load_task
from replicator.model.finding import Finding
from replicator.model.position import Position

TASK = """
name: copy_hot_item
source: {type: mysql, user: u, password: "env:PW"}
sink: {type: stdout}
"""
OK = Finding.ok("source.log_bin", "ON")
WARN = Finding("source.tls", "warn", "not encrypted", "TLS", "Add `source.tls: {ca: /path/to/ca.pem}`.")
FAIL = Finding("source.binlog_format", "fail", "STATEMENT", "ROW", "SET PERSIST binlog_format = 'ROW';")


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, findings: list[Finding], *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr(check, "check_task", lambda *_: findings)
    path = tmp_path / "task.yaml"
    path.write_text(TASK)
    result = CliRunner().invoke(check.command, ["-f", str(path), *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.stdout


@pytest.mark.parametrize(("findings", "status"), [([OK], 0), ([OK, WARN], 10), ([OK, WARN, FAIL], 11)])
def test_the_exit_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, findings: list[Finding], status: int) -> None:
    assert run(monkeypatch, tmp_path, findings)[0] == status
    assert run(monkeypatch, tmp_path, findings, "-o", "json")[0] == status


def test_a_place_in_the_binlog(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[object] = []

    def answer(*given: object) -> list[Finding]:
        asked.append(given[-1])
        return [OK]

    monkeypatch.setattr(check, "check_task", answer)
    path = tmp_path / "task.yaml"
    path.write_text(TASK)
    for place in ("binlog.000042:4711", "a:b.000001:4"):
        CliRunner().invoke(check.command, ["-f", str(path), "--position", place], standalone_mode=False)
    assert asked == [Position("binlog.000042", 4711), Position("a:b.000001", 4)]
    for odd in ("binlog.000042", ":4", "binlog.000042:3", "binlog.000042:x", f"f:{1 << 63}"):
        result = CliRunner().invoke(check.command, ["-f", str(path), "--position", odd])
        assert result.exit_code == 2 and "--position is FILE:OFFSET" in result.output
    assert len(asked) == 2


def test_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    document = json.loads(run(monkeypatch, tmp_path, [OK, FAIL], "-o", "json")[1])
    assert (document["apiVersion"], document["kind"]) == ("v1", "CheckResult")
    assert (document["task"], document["result"]) == ("copy_hot_item", "fail")
    assert document["findings"][1] == {
        "id": "source.binlog_format",
        "severity": "fail",
        "found": "STATEMENT",
        "wanted": "ROW",
        "fix": "SET PERSIST binlog_format = 'ROW';",
    }


def test_a_pipe_gets_each_part_on_one_line_and_no_colour(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    long = Finding("source.tables", "fail", "x " * 200 + "end", "w " * 200 + "end", "f " * 200 + "end")
    out = run(monkeypatch, tmp_path, [OK, long])[1]
    assert "\x1b" not in out
    lines = out.splitlines()
    assert len(lines) == 5
    assert lines[0] == "OK    source.log_bin  ON"
    assert [line.split()[0] for line in lines[1:4]] == ["FAIL", "wanted:", "fix:"]
    assert lines[4] == "copy_hot_item can't run: 1 ok, 0 warn, 1 fail"


@pytest.mark.parametrize("limit", [30, 60, 80, 120])
def test_a_terminal_gets_lines_that_fit(limit: int) -> None:
    config = load_task(TASK)
    long = Finding("source.grant.replication_client", "warn", "words " * 30, "words " * 30, "words " * 30)
    text = check._table(config.name, [OK, long, FAIL], limit)
    body = click.unstyle(text).splitlines()[:-1]
    assert all(cells(line) <= max(limit, 40) for line in body)
    assert "".join(click.unstyle(text).split()).count("words") == 90
    assert "SET PERSIST" in " ".join(click.unstyle(text).split())


def test_control_characters_of_a_server_do_not_reach_the_terminal() -> None:
    text = check._table(load_task(TASK).name, [Finding("x", "fail", "a\x1b[2Jb", "", "")], None)
    assert "\x1b[2J" not in text
