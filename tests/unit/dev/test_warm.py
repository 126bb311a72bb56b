"""Processes that are forked from one that has imported everything: as a new interpreter would run them."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from dev import warm
from dev.cluster import CLI
from tests.support.waiting import eventually

SCRIPT = """
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ.get("WARM"), __name__, os.getsid(0) == os.getpid(), sys.stdin.read())
print("said", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""
SLEEPS = "import sys, time\nprint('begun', flush=True)\ntime.sleep(60)\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script"
    path.write_text(SCRIPT)
    return path


def test_a_script_gets_what_it_was_given(script: Path, tmp_path: Path) -> None:
    done = warm.run([str(script), "7"], environment={"WARM": "yes"}, cwd=tmp_path, given="read")
    assert done.returncode == 7 and done.stderr == "said\n"
    assert done.stdout == f"['7'] {tmp_path} yes __main__ True read\n"


@pytest.mark.parametrize("arguments", [["--version"], ["task", "gett"], ["explain", "sink.kafka"]])
def test_a_command_says_what_it_says_in_an_interpreter_of_its_own(arguments: list[str]) -> None:
    command = [str(CLI), *arguments]
    forked = warm.run(command, environment=dict(os.environ))
    alone = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def sleeping(tmp_path: Path) -> warm.WarmProcess:
    (tmp_path / "sleeps").write_text(SLEEPS)
    with (tmp_path / "out").open("wb") as out:
        command = [str(tmp_path / "sleeps")]
        process = warm.start(command, cwd=tmp_path, environment=dict(os.environ), stdout=out, stderr=out)
    eventually(lambda: (tmp_path / "out").read_text())
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_by_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    process = sleeping(tmp_path)
    assert process.poll() is None
    process.send_signal(number)
    assert process.wait(20) == process.poll() == -number
    assert not psutil.pid_exists(process.pid)


def test_a_wait_ends_in_time(tmp_path: Path) -> None:
    process = sleeping(tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.05)
    process.kill()
    process.wait(20)


def test_it_ends_with_its_server(tmp_path: Path) -> None:
    """Which ends with the tests; for the next process another one is started."""
    process = sleeping(tmp_path)
    server = psutil.Process(process.pid).parent()
    assert server is not None
    server.kill()
    server.wait(20)
    eventually(lambda: not psutil.pid_exists(process.pid))
    assert warm.run([str(CLI), "--version"], environment=dict(os.environ)).returncode == 0
