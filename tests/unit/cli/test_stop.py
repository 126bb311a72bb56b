"""`replicator core stop`: one process of this host, chosen without a doubt, and never another one."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.held_process import held_process, signals
from tests.unit.cli.conftest import Cli


@pytest.fixture(autouse=True)
def no_zookeeper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPLICATOR_ZOOKEEPER", raising=False)


@pytest.mark.parametrize("kind", ["core", "server", "monitor"])
def test_nothing_runs(cli: Cli, kind: str) -> None:
    result = cli(kind, "stop")
    assert result.exit_code == 3 and "E5050" in result.stderr and f"no running {kind}" in result.stderr


@pytest.mark.parametrize("kind", ["core", "server", "monitor"])
def test_the_only_one_is_stopped(cli: Cli, kind: str) -> None:
    with held_process(None, kind) as process:
        result = cli(kind, "stop")
        assert (result.exit_code, result.stdout) == (0, f"{kind} host-a stopped\n"), result.stderr
        assert f"(pid {process.pid}, zookeeper zk1:2181, root /bus) is stopping" in result.stderr
        assert process.wait(10) == 0


def test_of_several_none_is_stopped_until_one_is_named(cli: Cli) -> None:
    with (
        held_process(None, host="host-a") as first,
        held_process(None, host="host-b", zookeeper="zk2:1,zk3:1/x") as second,
        held_process(None, host="host-b", root="/other") as third,
        held_process(None, "server", "host-b") as server,
    ):
        result = cli("core", "stop")
        assert result.exit_code == 4 and "E5053" in result.stderr
        assert all(f"pid {process.pid}" in result.stderr for process in (first, second, third))
        assert cli("core", "stop", "--host", "host-b").exit_code == 4
        assert cli("core", "stop", "--host", "host-c").exit_code == 3
        assert cli("core", "stop", "--pid", str(server.pid)).exit_code == 3
        assert cli("core", "stop", "--pid", str(os.getpid())).exit_code == 3
        assert cli("core", "stop", env={"REPLICATOR_ZOOKEEPER": "zk3:1, zk2:1/x"}).exit_code == 0
        assert second.wait(10) == 0
        assert cli("core", "stop", "--root", "other", "--zookeeper", "zk1:2181").exit_code == 0
        assert third.wait(10) == 0
        assert cli("core", "stop", "--pid", str(first.pid)).exit_code == 0
        assert first.wait(10) == 0
        assert signals(server) == 0


def test_a_pid_file(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.pid"
    with held_process(file) as process, held_process(None) as other:
        assert cli("server", "stop", "--pid-file", str(file)).exit_code == 3, "it is of a Core"
        assert cli("core", "stop", "--pid-file", str(file)).exit_code == 0
        assert process.wait(10) == 0
        result = cli("core", "stop", "--pid-file", str(file))
        assert result.exit_code == 3 and str(file) in result.stderr
        assert signals(other) == 0


def test_a_pid_file_of_another_program_is_never_used(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "sleep.pid"
    with subprocess.Popen(["sleep", "60"]) as sleep:
        file.write_text(f"{sleep.pid}\n")
        assert cli("core", "stop", "--pid-file", str(file)).exit_code == 3
        assert sleep.poll() is None
        sleep.kill()


def test_one_that_does_not_end_in_time_is_not_killed_and_not_signalled_again(cli: Cli) -> None:
    with held_process(None, behaviour="waits") as process:
        for _ in range(3):
            began = time.monotonic()
            result = cli("core", "stop", "--timeout", "0.3")
            assert result.exit_code == 7 and "E5009" in result.stderr
            assert f"kill -KILL {process.pid}" in result.stderr
            assert time.monotonic() - began > 0.25
        assert process.poll() is None
        assert signals(process) == 1


def test_an_end_by_an_error_has_another_exit_status(cli: Cli) -> None:
    with held_process(None, behaviour="breaks"):
        result = cli("core", "stop")
        assert result.exit_code == 1 and "E5055" in result.stderr and result.stdout == ""


def test_a_service_of_systemd_is_left_to_systemd(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_process(None) as process:
        monkeypatch.setattr(
            "replicator.host.running_process.decode",
            lambda data: _serviced(data),
        )
        result = cli("core", "stop")
        assert result.exit_code == 4 and "`systemctl stop bus.service`" in result.stderr
        assert signals(process) == 0


def _serviced(data: bytes) -> object:
    import msgspec

    from replicator.host.process_record import decode

    found = decode(data)
    return None if found is None else msgspec.structs.replace(found, service="bus.service")


@pytest.mark.parametrize("kind", ["core", "server", "monitor"])
def test_options_in_front_of_stop_are_not_dropped(cli: Cli, kind: str) -> None:
    with held_process(None, kind) as process:
        result = cli(kind, "--zookeeper", "zk1:2181", "--root", "/bus", "stop")
        assert result.exit_code == 2 and "after it" in result.stderr
        assert signals(process) == 0


@pytest.mark.parametrize("kind", ["core", "server", "monitor"])
def test_the_process_itself_still_needs_its_options(cli: Cli, kind: str) -> None:
    assert "Missing option '--zookeeper'" in cli(kind).stderr
    assert cli(kind, "--zookeeper", "zk1:2181", "strt").exit_code == 2
    help_text = cli(kind, "--help").stdout
    assert "--pid-file" in help_text and "stop" in help_text
    assert cli(kind, "stop", "--help").exit_code == 0
