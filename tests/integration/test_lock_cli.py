"""`replicator lock`, `barrier`, `queue` and `id` as people type them, with real processes and a real ZooKeeper."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dev.servers import ZooKeeper
from tests.support.waiting import eventually

CLI = [sys.executable, "-m", "replicator.cli.main"]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(zookeeper: ZooKeeper) -> Iterator[Start]:
    environment = {**os.environ, "REPLICATOR_ZOOKEEPER": zookeeper.address, "ROOT": f"/locks-{uuid.uuid4().hex}"}
    started = []

    def popen(*arguments: str, text: str | None = None) -> subprocess.Popen[str]:
        at = arguments.index("--") if "--" in arguments else len(arguments)
        options = ["--root", environment["ROOT"], "--session-timeout", "4"]
        process = subprocess.Popen(
            [*CLI, *arguments[:at], *options, *arguments[at:]],
            stdin=subprocess.PIPE if text is not None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        if text is not None and process.stdin is not None:
            process.stdin.write(text)
            process.stdin.close()
            process.stdin = None
        started.append(process)
        return process

    yield popen
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def done(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_lock_run(start: Start, tmp_path: Path) -> None:
    name, file = "shop / nightly %", tmp_path / "pids"
    loop = f"echo $$ $REPLICATOR_LOCK_TOKEN >>{file}; trap '' TERM; while :; do sleep 0.05; done"
    holder = start("lock", "run", name, "--", "sh", "-c", loop)
    pid, token = eventually(lambda: file.read_text().split() if file.exists() else None)
    [lock] = json.loads(done(start("lock", "ls", "-o", "json"))[1])["items"]
    assert (lock["name"], [str(claim["token"]) for claim in lock["claims"]]) == (name, [token])
    waiting = start("lock", "run", name, "--wait", "60s", "--", "sh", "-c", f"kill -0 {pid} || exit 5")
    status, _, err = done(start("lock", "run", name, "--shared", "--wait", "0", "--", "true"))
    assert status == 7 and "E4070" in err, err
    holder.send_signal(signal.SIGSTOP)  # for longer than its session
    assert done(waiting)[0] == 5, "the command of the former holder has ended before"
    assert not running(int(pid))
    holder.send_signal(signal.SIGCONT)
    status, _, err = done(holder)
    assert status == 4 and "E4071" in err, err


def test_lock_run_inside_of_lock_run(start: Start) -> None:
    inner = " ".join([*CLI, "lock run x --root $ROOT --wait 0"])
    both = start(
        "lock", "run", "x", "--", "sh", "-c", f"echo $REPLICATOR_LOCK_TOKEN; {inner} -- printenv REPLICATOR_LOCK_TOKEN"
    )
    shared = start("lock", "run", "y", "--shared", "--", "sh", "-c", inner.replace(" x ", " y ") + " -- true")
    status, out, err = done(both)
    outside, inside = out.split()
    assert status == 0 and outside == inside, err
    status, _, err = done(shared)
    assert status == 4 and "E4072" in err


def test_a_double_barrier_runs_commands_together(start: Start, tmp_path: Path) -> None:
    """All begin together; the one whose command ends first waits for the others, and each has its own status."""
    folder = tmp_path / "ran"
    folder.mkdir()
    wait = f"touch {folder}/$0; while test ! -e {folder}/go; do sleep 0.05; done; exit $1"
    options = ["barrier", "wait", "go", "--parties", "2", "--double", "--wait", "60s", "--", "sh", "-c"]
    first = start(*options, f"touch {folder}/first; exit 3")
    assert list(folder.iterdir()) == [], "alone it does not begin"
    second = start(*options, wait, "second", "0")
    eventually(lambda: {path.name for path in folder.iterdir()} == {"first", "second"})
    assert first.poll() is None, "its command has ended, and it waits for the other one"
    (folder / "go").touch()
    assert (done(first)[0], done(second)[0]) == (3, 0)
    assert done(start("barrier", "wait", "x", "--parties", "1", "--double"))[0] == 2
    third, fourth = start(*options, "exit 0"), start(*options, f"touch {folder}/fourth; exec sleep 3")
    eventually(lambda: (folder / "fourth").exists())
    fourth.kill()
    assert done(third)[0] == 0, "one that is gone is not waited for"


def test_barrier_queue_and_ids(start: Start) -> None:
    parties = [start("barrier", "wait", "go", "--parties", "2", "--wait", "60s") for _ in range(2)]
    assert done(start("queue", "put", "work", text="one\ntwo\n"))[0] == 0
    assert (
        done(start("queue", "take", "work", "--", "sh", "-c", 'test "$REPLICATOR_QUEUE_ITEM" = one && exit 9'))[0] == 9
    )
    assert done(start("queue", "take", "work"))[:2] == (0, "one\n"), "it was given back"
    ids = [int(line) for line in done(start("id", "next", "order", "--count", "2500"))[1].split()]
    assert ids == list(range(1, 2501))
    assert json.loads(done(start("id", "next", "order", "-o", "json"))[1])["blocks"] == [{"first": 2501, "last": 2501}]
    assert [done(party)[0] for party in parties] == [0, 0]
    status, _, err = done(start("lock", "run", "", "--", "true"))
    assert status == 2 and "E5140" in err
