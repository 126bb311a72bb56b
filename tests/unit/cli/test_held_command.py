"""Commands that run under a lease, without ZooKeeper: real processes, ended with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from replicator.cli.lock.held_command import HeldCommand, require
from replicator.coordination.leadership.lease import Lease
from replicator.coordination.recipes.hold import Hold
from replicator.errors import CoordinationError, ProcessError
from replicator.model import lease_clock
from tests.support.waiting import eventually

T = 1.2
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes of processes are found by /proc")


def hold(seconds: float) -> Hold:
    lease = Lease("/locks/x/c", 5, 1, deadline=lease_clock.now() + seconds)
    return Hold("the lock 'x'", "exclusive", "/locks/x", "g", 5, lease)


def run(own: Hold, *command: str) -> int:
    return HeldCommand(own, lambda: None, T).run(command, {"REPLICATOR_LOCK_TOKEN": str(own.token)})


def gone(pid: int) -> bool:
    """Ended, or not yet waited for by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def numbers(tmp_path: Path) -> Iterator[Path]:
    """A file to which commands write process ids, which are ended afterwards."""
    path = tmp_path / "pids"
    yield path
    for pid in pids(path):
        if not gone(pid):
            os.kill(pid, signal.SIGKILL)


def pids(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_status_output_and_environment(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(hold(60), "sh", "-c", "echo token $REPLICATOR_LOCK_TOKEN; exit 3") == 3
    assert capfd.readouterr().out == "token 5\n"
    assert run(hold(60), "sh", "-c", "kill -9 $$") == 137
    assert run(hold(60), "sh", "-c", "yes | head -1 >/dev/null; exit ${PIPESTATUS:-0}") == 0


def test_the_end_of_the_lease_ends_all_processes_also_those_that_ignore_signals(numbers: Path) -> None:
    script = f"trap '' TERM; setsid sleep 600 & echo $! >>{numbers}; echo $$ >>{numbers}; while :; do sleep 0.1; done"
    own = hold(600)

    def keep() -> None:
        if len(pids(numbers)) == 2:
            own.lease.end()

    with pytest.raises(CoordinationError, match=r"E4071.*the lock 'x' was lost"):
        HeldCommand(own, keep, T).run(["sh", "-c", script], {})
    assert all(map(gone, pids(numbers)))


def test_a_lease_that_is_extended_lets_it_run() -> None:
    own = hold(3)

    def keep() -> None:
        own.lease.deadline = lease_clock.now() + 60

    assert HeldCommand(own, keep, T).run(["sleep", "3.2"], {}) == 0


def test_it_ends_when_the_process_that_has_the_lock_is_killed(numbers: Path, tmp_path: Path) -> None:
    program = tmp_path / "holder.py"
    program.write_text(
        "from tests.unit.cli.test_held_command import hold, run\n"
        f"run(hold(600), 'sh', '-c', 'echo $$ >>{numbers}; sleep 600')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen([sys.executable, str(program)], env=environment) as holder:
        [pid] = eventually(lambda: pids(numbers))
        holder.kill()
    eventually(lambda: gone(pid))


def parent(pid: int) -> int:
    """The guard, of the command's first process. This process has other children, of other tests."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_guard_that_is_stopped_or_killed(numbers: Path) -> None:
    for number in (signal.SIGSTOP, signal.SIGKILL):
        numbers.unlink(missing_ok=True)
        own = hold(600)

        def interfere(number: int = number, own: Hold = own) -> None:
            eventually(lambda: pids(numbers))
            os.kill(parent(pids(numbers)[0]), number)
            if number == signal.SIGSTOP:
                own.lease.end()

        thread = threading.Thread(target=interfere)
        thread.start()
        try:
            status = run(own, "sh", "-c", f"echo $$ >>{numbers}; exec sleep 600")
        except CoordinationError as error:
            assert error.code == "E4071" and number == signal.SIGSTOP
        else:
            assert status == 137 and number == signal.SIGKILL
        thread.join()
        eventually(lambda: gone(pids(numbers)[0]))


def test_sigterm_is_forwarded(numbers: Path) -> None:
    def terminate() -> None:
        eventually(lambda: pids(numbers))
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=terminate).start()
    script = f"trap 'exit 9' TERM; echo $$ >>{numbers}; while :; do sleep 0.05; done"
    assert run(hold(60), "sh", "-c", script) == 9
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(ProcessError, match="E5142"):
        require(["no-such-command"])
    assert run(hold(60), "/no/such/command") == 127
