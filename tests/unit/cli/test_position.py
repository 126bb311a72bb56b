"""`replicator task position set`: what it says before it sets anything."""

from __future__ import annotations

import pytest

from replicator.coordination.tasks.commits import Commits
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    return world


@pytest.mark.parametrize("more", [("--dry-run",), ("-y",)])
def test_a_place_in_the_binlog_is_not_checked_and_that_is_said(cli: Cli, made: World, more: tuple[str, ...]) -> None:
    result = cli("task", "position", "set", NAME, "--file", "binlog.000042", "--offset", "4711", *more)
    assert result.exit_code == 0
    text = result.stdout if more == ("--dry-run",) else result.stderr
    for line in (
        "Not checked:  whether binlog.000042 exists at the source and a transaction begins at byte 4711.",
        "replicator check -f TASK.yaml --position binlog.000042:4711",
        f"A wrong one stops the task when it resumes (FAILED): replicator task describe {NAME}",
    ):
        assert line in text


def test_of_a_set_and_of_an_earlier_position(cli: Cli, made: World) -> None:
    gtid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
    text = cli("task", "position", "set", NAME, "--gtid", gtid, "-y").stderr
    assert "Not checked:  whether the source has executed this set" in text
    text = cli("task", "position", "set", NAME, "--transaction-start", "--dry-run").stdout
    assert "From:" in text and "Not checked" not in text


@pytest.mark.parametrize(("end", "label"), [("latest", "NEVER sent:"), ("earliest", "Sent again:")])
def test_an_end_of_the_log(cli: Cli, made: World, end: str, label: str) -> None:
    shown = cli("task", "position", "set", NAME, f"--{end}", "--dry-run").stdout
    assert f"To:           {end}\n" in shown and label in shown and "can't be compared" not in shown
    result = cli("task", "position", "set", NAME, f"--{end}", "-y")
    assert result.stdout.endswith(f"{NAME} position set to {end}\n")
    assert f"Position:   {end}\n" in cli("task", "position", "get", NAME).stdout
    assert cli("task", "position", "set", NAME, "--latest", "--earliest").exit_code in (0, 2), "the last one counts"
    assert cli("task", "position", "set", NAME, f"--{end}", "--gtid", "x").exit_code == 2


def test_a_fork_of_a_task_that_was_sent_to_an_end_begins_there(cli: Cli, made: World) -> None:
    cli("task", "position", "set", NAME, "--earliest", "-y")
    assert cli("task", "fork", NAME, "second").exit_code == 0
    assert made.http.get("/tasks/second").json()["config"]["source"]["start"] == "earliest"


FROM_TOPICS = """\
name: from_topics
source: {type: kafka, bootstrap_servers: ["127.0.0.1:9092"], topics: ["shop.*"], format: debezium}
sink: {type: mysql, host: db2, user: applier, password: env:REPL_TARGET_PASSWORD}
"""


@pytest.mark.parametrize(("end", "label"), [("latest", "NEVER sent:"), ("earliest", "Sent again:")])
def test_an_end_of_topics(cli: Cli, world: World, end: str, label: str) -> None:
    assert world.http.post("/tasks", content=FROM_TOPICS).status_code == 201
    assert cli("task", "position", "set", "from_topics", "--offsets", "shop.a:5,7", "-y").exit_code == 0
    shown = cli("task", "position", "set", "from_topics", f"--{end}", "--dry-run").stdout
    assert f"To:           {end}\n" in shown and label in shown and "shop.a" in shown
    assert cli("task", "position", "set", "from_topics", f"--{end}", "-y").exit_code == 0
    assert f"Position:   {end}\n" in cli("task", "position", "get", "from_topics").stdout
    commit = Commits(world.bus.coordinator, world.bus.layout).read("from_topics").checkpoint
    assert commit is not None and commit.position.begin == end and commit.position.reset == 2
    assert commit.position.unseen is None, "topics have no schema history"
    assert cli("task", "position", "set", "from_topics", "--offsets", "shop.a:5,7", "-y").exit_code == 0
