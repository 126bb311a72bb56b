"""`replicator task` against a Server on a loopback port."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path

import msgspec
import pytest
import yaml

from replicator.cli import terminal
from replicator.cli.task.watch import Changes, Feed
from replicator.coordination.machines.report_ages import ReportAges
from replicator.coordination.records import CommitRecord, dump
from replicator.coordination.tasks.purged import Purged
from replicator.coordination.tasks.status import Status
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.retrying import EFFECTS, Retrying
from replicator.model.snapshot import OpenTable, SnapshotProgress
from tests.support.api import TASK, TOKEN, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"
HEADER = ["NAME", "STATE", "HOST", "STANDBYS", "LAG", "ROWS/S", "DESTINATION"]
DESTINATION = "{task}.{database}.{table}, debezium, kafka 127.0.0.1:9092"


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    return world


@pytest.fixture
def running(made: World) -> World:
    now = int(time.time() * 1000)
    made.core("host-a").stand(
        NAME, "running", position="binlog.000003:4711", lag_s=0.25, rows_per_s=1234.0, checkpoint_ms=now - 3000
    )
    made.core("host-b").stand(NAME, "standby")
    return made


def test_apply_creates_configures_and_leaves_alone(cli: Cli, world: World, file: Path) -> None:
    result = cli("task", "apply", "-f", str(file), "--dry-run")
    assert (result.exit_code, result.stdout) == (0, f"{NAME} created (dry run)\n")
    assert world.http.get("/tasks").json()["items"] == []
    assert cli("task", "apply", "-f", str(file)).stdout == f"{NAME} created\n"
    assert cli("task", "apply", "-f", str(file)).stdout == f"{NAME} unchanged\n"
    file.write_text(TASK.replace("3306", "3307"))
    result = cli("task", "apply", "-f", str(file), "--dry-run")
    assert (result.stdout, result.stderr) == (f"{NAME} configured (dry run)\n", "  source.port: 3306 -> 3307\n")
    assert cli("task", "apply", "-f", str(file)).stdout == f"{NAME} configured\n"
    assert world.http.get(f"/tasks/{NAME}").json()["version"] == 1


def test_apply_tells_of_rows_that_a_snapshot_will_deliver(cli: Cli, running: World, file: Path) -> None:
    told = "  snapshot: the rows of tables that *.* adds will be delivered\n"
    more = TASK.replace('"crm.customer"]', '"*.*"]\n  snapshot: initial')
    file.write_text(more)
    assert told in cli("task", "apply", "-f", str(file), "--dry-run").stderr
    file.write_text(more.replace("initial", "{mode: initial, new_tables: false}"))
    assert "will be delivered" not in cli("task", "apply", "-f", str(file), "--dry-run").stderr


def test_apply_reads_standard_input_and_json(cli: Cli, world: World) -> None:
    text = json.dumps(yaml.safe_load(TASK))
    assert cli("task", "apply", "-f", "-", input=text).stdout == f"{NAME} created\n"


def test_apply_names_every_problem_and_its_line(cli: Cli, world: World, file: Path) -> None:
    file.write_text(TASK.replace("port", "prot").replace("env:REPL_PASSWORD", "hunter2"))
    result = cli("task", "apply", "-f", str(file))
    assert result.exit_code == 1 and result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith("E1002 config: source.prot is not a known key. Found: line 5.") and first.endswith(
        "Write port"
    )
    assert second.startswith("E1005 config: source.password") and "hunter2" not in second


def test_apply_on_what_is_not_there(cli: Cli, world: World, tmp_path: Path) -> None:
    result = cli("task", "apply", "-f", str(tmp_path / "none.yaml"))
    assert result.exit_code == 1 and "No such file" in result.stderr
    assert cli("task", "apply").exit_code == 2


def test_apply_refuses_another_kind_of_source(cli: Cli, made: World, file: Path) -> None:
    file.write_text(TASK.replace("type: mysql", "type: mariadb"))
    result = cli("task", "apply", "-f", str(file))
    assert result.exit_code == 4 and "E1009" in result.stderr


def test_get_as_a_table(cli: Cli, running: World) -> None:
    result = cli("task", "get")
    head, row = result.stdout.splitlines()
    assert head.split() == HEADER
    assert row.split(maxsplit=6) == [NAME, "running", "host-a", "1", "0.2s", "1234", DESTINATION]
    assert cli("task", "get", "--no-headers").stdout.splitlines()[0].startswith(NAME)


RETRYING = Retrying(
    side="sink", code="E3002", what="the sink does not answer", seconds=77.0, attempts=2, effect=EFFECTS["sink"]
)


def test_an_outage_is_in_every_output(cli: Cli, made: World) -> None:
    """As of the present figures: a row waits at the source for 76 s."""
    made.core("host-a").stand(NAME, "running", lag_s=76.0, retrying=RETRYING)
    row = cli("task", "get", "--no-headers").stdout
    assert "running, retrying" in row and "76s" in row
    told = cli("task", "describe", NAME).stdout
    assert "Retrying:    the sink for 77s, 2 failed attempts: E3002 the sink does not answer. No new records" in told
    assert "State:       running, retrying" in told and "Lag:         76s" in told
    assert "E3002 the sink does not answer" in told.split("Problems:")[1]
    task = json.loads(cli("task", "get", NAME, "-o", "json").stdout)
    assert (task["state"], task["retrying"]["code"], task["retrying"]["seconds"]) == ("running", "E3002", 77.0)
    assert task["problems"][0]["code"] == "E3002"


def test_a_task_that_cannot_start_says_why(cli: Cli, made: World) -> None:
    made.core("host-a").stand(NAME, "starting", retrying=RETRYING)
    assert "starting, retrying" in cli("task", "get").stdout
    result = cli("task", "wait", NAME, "--for", "running", "--timeout", "0.1")
    assert result.exit_code == 7 and "retrying E3002 for 77s: E3002 the sink does not answer" in result.stderr


def test_lag_that_is_unknown_or_a_bound(cli: Cli, made: World) -> None:
    core = made.core("host-a")
    core.stand(NAME, "running", lag_note="the source can't be reached")
    assert "unknown" in cli("task", "get", "--no-headers").stdout
    assert "Lag:         unknown (the source can't be reached)" in cli("task", "describe", NAME).stdout
    core.stand(NAME, "running", lag_s=45.0, lag_at_most=True, clock_skew_s=-3.0)
    assert "<= 45s" in cli("task", "get", "--no-headers").stdout
    assert "Clock skew:  the source's clock is 3.0s behind the Core's" in cli("task", "describe", NAME).stdout
    assert "Behind:" not in cli("task", "describe", NAME).stdout
    core.stand(NAME, "running", behind_bytes=1_234_567, behind_transactions=89)
    assert "Behind:      1.2 MB of binlog, 89 transactions" in cli("task", "describe", NAME).stdout
    core.stand(NAME, "running", behind_transactions=7)
    assert "Behind:      7 records" in cli("task", "describe", NAME).stdout


def test_figures_of_a_host_that_does_not_report_are_old(
    cli: Cli, running: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReportAges, "of", lambda self, name: 7.2)
    row = cli("task", "get", "--no-headers").stdout
    assert "running (no report for 7.2s)" in row and "unknown" in row and "1234" not in row
    told = cli("task", "describe", NAME).stdout
    assert "Lag:         unknown (the figures are 7 s old: the Core does not report)" in told
    task = json.loads(cli("task", "get", NAME, "-o", "json").stdout)
    assert (task["figures_age_s"], task["figures_old"]) == (7.2, True)
    assert (task["lag_s"], task["rows_per_s"]) == (None, None)


def test_get_in_other_forms(cli: Cli, running: World) -> None:
    task = json.loads(cli("task", "get", NAME, "-o", "json").stdout)
    assert (task["apiVersion"], task["kind"], task["host"]) == ("v1", "Task", "host-a")
    listed = yaml.safe_load(cli("task", "get", "-o", "yaml").stdout)
    assert (listed["kind"], listed["items"][0]["name"]) == ("TaskList", NAME)
    assert cli("task", "get", "-o", "name").stdout == f"{NAME}\n"
    wide = cli("task", "get", "-o", "wide").stdout
    head, row = wide.splitlines()
    assert "host-b" in row and "binlog.000003:4711" in row and "mysql 127.0.0.1:3306" in row
    inner = ["SOURCE", "POSITION", "CHECKPOINT AGE", "EPOCH", "ROWS", "VERSION", "LABELS", "GTID", "PROBLEM"]
    assert re.split("  +", head)[7:] == inner


def test_get_fits_a_narrow_terminal(cli: Cli, running: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replicator.cli.task.render.width", lambda: 60)
    lines = cli("task", "get").stdout.splitlines()
    assert max(map(terminal.cells, lines)) <= 60
    assert lines[0].split()[:3] == ["NAME", "STATE", "HOST"]


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (200, DESTINATION),
        (110, "{task}.{database}.{table}, debezium, kafka 127.0…:9092"),
        (88, "{task}.{database}.{table}"),
        (80, "{task}.{data…se}.{table}"),
    ],
)
def test_a_destination_is_cut_where_it_matters_least(
    cli: Cli, running: World, monkeypatch: pytest.MonkeyPatch, columns: int, shown: str
) -> None:
    monkeypatch.setattr("replicator.cli.task.render.width", lambda: columns)
    head, row = cli("task", "get").stdout.splitlines()
    assert head.split() == HEADER and max(map(terminal.cells, (head, row))) <= columns
    assert row.split(maxsplit=6)[6] == shown


def test_get_without_tasks_says_what_to_do(cli: Cli, world: World) -> None:
    result = cli("task", "get")
    assert (result.exit_code, result.stdout) == (0, "") and "task apply" in result.stderr


def test_watch_prints_what_changes_and_survives_the_outage(
    cli: Cli, running: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    show = Changes.show

    def shown_until_silent(self: Changes, feed: Feed, *, silent: bool) -> None:
        show(self, feed, silent=silent)
        if silent and feed.error is not None:
            raise KeyboardInterrupt

    def end() -> None:
        time.sleep(0.4)
        Status(running.bus.coordinator, running.bus.layout).set(NAME, "paused", "test")
        time.sleep(0.4)
        running.bus.coordinator.suspend()

    thread = threading.Thread(target=end)
    thread.start()
    monkeypatch.setattr("replicator.cli.task.watch.SILENT_SECONDS", 0.3)
    monkeypatch.setattr(Changes, "show", shown_until_silent)
    result = cli("task", "get", "-w", "-o", "json", "--interval", "0.1")
    thread.join()
    assert result.exit_code == 130 and "The Server has not answered for" in result.stderr and "E4001" in result.stderr
    seen = [json.loads(line) for line in result.stdout.splitlines()]
    assert [task["desired"] for task in seen] == ["running", "paused"]


def test_an_unknown_name_gets_a_suggestion(cli: Cli, made: World) -> None:
    for arguments in (["get"], ["describe"], ["pause"], ["history"], ["switchover"], ["delete", "-y"], ["wait"]):
        result = cli("task", *arguments, "copy_hot_itme")
        assert result.exit_code == 3, arguments
        assert "E5003" in result.stderr and f"Did you mean '{NAME}'?" in result.stderr


def test_describe(cli: Cli, running: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = cli("task", "describe", NAME).stdout
    for part in (
        "State:       running",
        "Running on:  host-a",
        "Standbys:    host-b",
        "password: env:REPL_PASSWORD",
        "created",
    ):
        assert part in text
    assert json.loads(cli("task", "describe", NAME, "-o", "json").stdout)["name"] == NAME


def test_a_snapshot_is_shown(cli: Cli, running: World) -> None:
    begun = int(time.time() * 1000) - 60_000
    progress = SnapshotProgress("initial", begun, tables=3, finished=1, open=OpenTable("shop.item"), rows=4_200,
                                size=1_500_000, estimate=10_000)  # fmt: skip
    position = Position("binlog.000003", 4711, snapshot=progress)
    commit = CommitRecord(epoch=7, checkpoint=Checkpoint(position, time_ms=begun + 42_000))
    running.bus.coordinator.create(running.bus.layout.last_commit(NAME), dump(commit))
    assert "running (snapshot 42 %)" in cli("task", "get", NAME).stdout
    text = cli("task", "describe", NAME).stdout
    wanted = (
        "running, 42 %: 4200 of about 10000 rows, 1.5 MB, 1 of 3 tables, reading shop.item, 100 rows/s, about 58s left"
    )
    assert f"Snapshot:    {wanted}, begun 2" in text
    taken = json.loads(cli("task", "describe", NAME, "-o", "json").stdout)["snapshot"]
    assert (taken["id"], taken["state"], taken["percent"], taken["eta_s"]) == ("initial", "running", 42, 58.0)


def test_snapshots_are_ordered_and_shown(cli: Cli, made: World) -> None:
    def reached(progress: SnapshotProgress | None) -> None:
        checkpoint = Checkpoint(Position("binlog.000003", 4711, snapshot=progress), time_ms=11_000)
        path, data = made.bus.layout.last_commit(NAME), dump(CommitRecord(epoch=7, checkpoint=checkpoint))
        if made.bus.coordinator.exists(path) is None:
            made.bus.coordinator.create(path, data)
        else:
            made.bus.coordinator.set(path, data)

    reached(None)
    made.http.post(f"/tasks/{NAME}/schema", json={"statement": "CREATE TABLE shop.item (id INT PRIMARY KEY)"})
    made.core("host-a").stand(NAME, "running")
    order = ["task", "snapshot", "start", NAME, "--table"]
    refused = cli(*order, "shop.item", "--table", "shop.nothing")
    assert refused.exit_code != 0 and "E2205" in refused.stderr
    assert "E1003" in cli(*order, "shop.item", "--where", "").stderr
    assert cli("task", "snapshot", "status", NAME).stdout == "no snapshot has begun\n"
    assert cli(*order, "shop.item", "--where", "id > 5").stdout == f"{NAME} snapshot order-1 of shop.item ordered\n"
    assert "after 1 other" in cli(*order, "shop.item").stdout
    half = SnapshotProgress("order-1", 1_000, 4, tables=1, open=OpenTable("shop.item"), rows=500, estimate=1_000)
    reached(half)
    line = cli("task", "snapshot", "status", NAME).stdout
    assert line.startswith("[############------------] running (order-1), 50 %: 500 of about 1000 rows,")
    assert line.endswith("; waiting: 2\n")
    assert cli("task", "snapshot", "pause", NAME).stdout == f"{NAME} snapshot pausing\n"
    assert "running (snapshot 50 %, paused)" in cli("task", "get", NAME).stdout
    told = json.loads(cli("task", "snapshot", "status", NAME, "-o", "json").stdout)
    assert (told["snapshot"]["state"], [one["number"] for one in told["requests"]]) == ("paused", [1, 2])
    assert cli("task", "snapshot", "resume", NAME).exit_code == cli("task", "snapshot", "stop", NAME).exit_code == 0
    reached(msgspec.structs.replace(half, ended_ms=9_000, stopped=True))
    assert cli("task", "snapshot", "status", NAME, "-w").stdout.startswith("stopped (order-1), 50 %: 500 of about")
    assert "E5007" in cli("task", "snapshot", "pause", NAME).stderr


def test_describe_shows_what_is_wrong_and_how_to_mend_it(cli: Cli, made: World) -> None:
    error = {"code": "E2206", "what": "the binlog is purged", "found": "a", "wanted": "b", "fix": "Make a new task."}
    made.core("host-a").stand(NAME, "failed", error=error)
    text = cli("task", "describe", NAME).stdout
    assert "State:       failed E2206" in text
    assert "  E2206 the binlog is purged\n" in text and "    Fix:      Make a new task.\n" in text


def test_pause_resume_history(cli: Cli, made: World) -> None:
    assert cli("task", "pause", NAME, "--reason", "backup").stdout == f"{NAME} pausing\n"
    assert made.http.get(f"/tasks/{NAME}").json()["desired_reason"] == "backup"
    assert cli("task", "resume", NAME).stdout == f"{NAME} resuming\n"
    rows = cli("task", "history", NAME).stdout.splitlines()
    assert rows[0].split()[:2] == ["TIME", "WHAT"]
    assert [row.split()[3] for row in rows[1:]] == ["created", "pause", "resume"]
    items = json.loads(cli("task", "history", NAME, "-n", "1", "-o", "json").stdout)["items"]
    assert [item["event"] for item in items] == ["resume"]
    assert "@" in items[0]["by"]


def test_maintenance_of_one_and_of_all(cli: Cli, running: World) -> None:
    def held() -> tuple[str, str]:
        task = running.http.get(f"/tasks/{NAME}").json()
        return task["maintenance"], task["maintenance_reason"]

    result = cli("task", "pause", "--maintenance", "--all", "--reason", "new disks")
    assert (result.exit_code, result.stdout) == (0, "all tasks: maintenance on\n")
    assert held() == ("cluster", "new disks")
    assert cli("task", "get").stdout.splitlines()[1].split()[1] == "running"
    result = cli("task", "switchover", NAME)
    assert result.exit_code == 4 and "`replicator task resume --maintenance --all` first." in result.stderr
    assert cli("task", "resume", "--maintenance", "--all").stdout == "all tasks: maintenance off\n"
    assert held() == ("", "")
    assert cli("task", "pause", NAME, "--maintenance").stdout == f"{NAME}: maintenance on\n"
    assert held() == ("task", "")
    assert cli("task", "resume", NAME, "--maintenance").stdout == f"{NAME}: maintenance off\n"
    assert held() == ("", "")
    items = json.loads(cli("task", "history", NAME, "-o", "json").stdout)["items"]
    noted = [item["reason"] for item in items if item["event"] == "maintenance"]
    assert noted == ["on: new disks", "off", "on", "off"]


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize("arguments", [["--all"], [NAME, "--all"], ["--maintenance"], [NAME, "--maintenance", "--all"]])
def test_maintenance_wants_one_task_or_all(cli: Cli, made: World, verb: str, arguments: list[str]) -> None:
    result = cli("task", verb, *arguments)
    assert result.exit_code == 2 and "NAME" in result.stderr
    task = made.http.get(f"/tasks/{NAME}").json()
    assert (task["maintenance"], task["desired"]) == ("", "running")


def test_switchover_waits_for_the_other_to_run(cli: Cli, made: World) -> None:
    first = made.core("host-a").stand(NAME, "running")
    second = made.core("host-b").stand(NAME, "standby")

    def obey() -> None:
        path = made.bus.layout.commands(NAME)
        while not made.bus.coordinator.children(path):
            time.sleep(0.02)
        first.leave(NAME)
        second.stand(NAME, "running")

    thread = threading.Thread(target=obey)
    thread.start()
    result = cli("task", "switchover", NAME, "--to", "host-b")
    thread.join()
    assert result.exit_code == 0 and result.stdout.startswith(f"{NAME} host-a -> host-b in ")


def test_switchover_refused_or_late(cli: Cli, running: World) -> None:
    result = cli("task", "switchover", NAME, "--to", "host-z")
    assert result.exit_code == 4 and "healthy standbys: host-b" in result.stderr
    assert cli("task", "switchover", NAME, "--timeout", "0.1").exit_code == 7
    assert cli("task", "switchover", NAME, "--no-wait").stdout == f"{NAME} host-a -> host-b\n"


def test_retry(cli: Cli, running: World) -> None:
    assert cli("task", "retry", NAME).exit_code == 4


def test_take_over_asks(cli: Cli, made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("task", "retry", NAME, "--take-over").exit_code == 2, "nobody can be asked"
    monkeypatch.setattr("replicator.cli.task.ask.interactive", lambda: True)
    made.core("host-a").stand(NAME, "failed", error={"code": "E3111", "what": "unknown term", "found": "epoch 9"})
    refused = cli("task", "retry", NAME, "--take-over", input="n\n")
    assert refused.exit_code == 4 and "epoch 9" in refused.stderr
    assert cli("task", "retry", NAME, "--take-over", "-y").stdout == f"{NAME} retrying\n"


def test_wait(cli: Cli, running: World) -> None:
    assert cli("task", "wait", NAME, "--for", "running").stdout == f"{NAME} running\n"
    result = cli("task", "wait", NAME, "--for", "paused", "--timeout", "0.2")
    assert result.exit_code == 7 and "E5009" in result.stderr
    assert cli("task", "wait", "nobody", "--for", "deleted").stdout == "nobody deleted\n"


def test_wait_for_running_ends_when_the_task_has_failed(cli: Cli, made: World) -> None:
    made.core("host-a").stand(NAME, "failed", error={"code": "E2101", "what": "wrong password", "fix": "Correct it."})
    result = cli("task", "wait", NAME)
    assert result.exit_code == 4 and "E2101 wrong password" in result.stderr and "Correct it." in result.stderr


def test_delete_asks_only_where_somebody_can_answer(cli: Cli, made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("task", "delete", NAME).exit_code == 2
    monkeypatch.setattr("replicator.cli.task.ask.interactive", lambda: True)
    assert cli("task", "delete", NAME, "--no-input").exit_code == 2
    assert cli("task", "delete", NAME, input="other\n").exit_code == 2
    assert len(made.http.get("/tasks").json()["items"]) == 1
    result = cli("task", "delete", NAME, input=f"{NAME}\n")
    assert result.exit_code == 0 and result.stdout.endswith(f"{NAME} deleted\n")  # after the Server's log
    assert made.http.get("/tasks").json()["items"] == []


def test_delete_waits_and_says_who_stands(cli: Cli, running: World) -> None:
    result = cli("task", "delete", NAME, "-y", "--timeout", "0.2")
    assert result.exit_code == 7 and "host-a, host-b" in result.stderr
    assert "  deleted wanted, running  " in cli("task", "get").stdout


def test_tokens(cli: Cli, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPLICATOR_TOKEN")
    result = cli("task", "get")
    assert result.exit_code == 6 and "E5006" in result.stderr
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    assert cli("task", "get", "--token-file", str(path)).exit_code == 0
    monkeypatch.setenv("REPLICATOR_TOKEN_FILE", str(path))
    assert cli("task", "get").exit_code == 0
    monkeypatch.setenv("REPLICATOR_TOKEN", "wrong-wrong-wrong-wrong")
    assert cli("task", "get").exit_code == 6
    path.chmod(0o644)
    monkeypatch.delenv("REPLICATOR_TOKEN")
    assert "chmod 600" in cli("task", "get").stderr


def test_the_token_of_a_server_of_the_same_user_is_found(
    cli: Cli, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPLICATOR_TOKEN")
    path = tmp_path / "state" / "mysql-replicator" / "server.token"
    path.parent.mkdir(parents=True)
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    assert cli("task", "get").exit_code == 0


def test_no_server(cli: Cli, world: World) -> None:
    result = cli("task", "get", "--server", "http://127.0.0.1:1")
    assert result.exit_code == 5 and result.stderr.startswith("E5005 process:"), result.stderr


def test_something_else_answers(cli: Cli, world: World) -> None:
    result = cli("task", "get", "--server", f"{world.bus.url}/elsewhere")
    assert result.exit_code == 1 and "E5013" in result.stderr


def test_names_complete(world: World, made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.shell_completion import ShellComplete

    from replicator.cli.main import main

    shell = ShellComplete(main, {}, "replicator", "_REPLICATOR_COMPLETE")
    assert [item.value for item in shell.get_completions(["task", "describe"], "copy")] == [NAME]
    monkeypatch.setenv("REPLICATOR_SERVER", "http://127.0.0.1:1")
    assert shell.get_completions(["task", "describe"], "copy") == []


def test_describe_shows_the_last_verification(cli: Cli, made: World) -> None:
    assert "Verified" not in cli("task", "describe", NAME).stdout
    task = made.http.get(f"/tasks/{NAME}").json()
    now = int(time.time() * 1000)
    tables = [
        {"table": "shop.item", "result": "equal", "time_ms": now},
        {"table": "shop.order", "result": "differs", "time_ms": now, "missing": 2, "different": 1},
    ]
    report = {"uid": task["uid"], "version": task["version"], "whole": True, "began_ms": now - 9, "ended_ms": now}
    made.http.put(f"/tasks/{NAME}/verification", json={**report, "host": "host-a", "tables": tables})
    shown = " ".join(cli("task", "describe", NAME).stdout.split())
    found = "1 equal, 1 different (shop.order: 2 missing, 0 extra, 1 different)"
    assert "Verified: differs, 0." in shown and f"s ago on host-a: {found}" in shown


def test_delete_says_what_stays_at_the_sink_and_what_a_purge_would_take(cli: Cli, made: World) -> None:
    shown = cli("task", "delete", NAME, "--purge", "--dry-run")
    assert shown.stdout == f"{NAME} would be deleted with its position at the sink\n"
    assert len(made.http.get("/tasks").json()["items"]) == 1
    assert "its position stays at the sink" in cli("task", "delete", NAME, "-y").stderr
    made.http.post("/tasks", content=TASK)
    uid = made.http.get(f"/tasks/{NAME}").json()["uid"]
    assert "stays" not in cli("task", "delete", NAME, "-y", "--purge").stderr
    assert set(Purged(made.bus.coordinator, made.bus.layout).read(NAME).uids) == {uid}
