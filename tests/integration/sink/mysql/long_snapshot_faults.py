"""Faults in the middle of a snapshot into a server: at the end both sides are equal. `make long` runs them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dev.cluster import CLI
from dev.faults.proxy import Proxy
from tests.integration.sink.mysql.test_snapshots import CHANGES, _no_password, count, equal, filling, prepared, same
from tests.support.filled import Fill, writers
from tests.support.verified import Pair, verify
from tests.support.waiting import eventually

__all__ = ["_no_password", "same"]

pytestmark = [pytest.mark.timeout(200)]

SLOW = {"mode": "initial", "chunk_rows": 100, "max_rows_per_s": 1500}


class Runs:
    """Processes of `replicator run`, of one task and, unless named, of one state."""

    def __init__(self, fill: Fill, folder: Path) -> None:
        self.folder = folder
        task = fill.config.model_dump(mode="json", by_alias=True, exclude_unset=True)
        (folder / "task.json").write_text(json.dumps(task))

    @contextmanager
    def process(self, *options: str, state: str = "state") -> Iterator[subprocess.Popen[str]]:
        started = subprocess.Popen(
            [str(CLI), "run", "-f", "task.json", "--state", str(self.folder / state), *options],
            cwd=self.folder,
            env={**os.environ, "XDG_STATE_HOME": str(self.folder)},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield started
        finally:
            started.kill()
            started.communicate()

    def to_the_end(self, state: str = "state") -> None:
        with self.process("--until-current", state=state) as last:
            told = last.communicate(timeout=200)[1]
        assert last.returncode == 0, told


def part(fill: Fill, rows: int) -> None:
    """Waits until so many rows are filled."""

    def reached() -> bool:
        if fill.failed is not None:
            raise fill.failed
        return fill.snapshot is not None and fill.snapshot.rows >= rows

    eventually(reached, 120)


def filled(two: Pair, *tables: str) -> int:
    """Rows of `prepared` at the target."""
    wanted = set(tables or "abcz")
    there = {str(name) for (name,) in two.target.execute(f"SHOW TABLES FROM {two.other}")} & wanted
    return sum(count(two, table) for table in there)


def assert_equal(fill: Fill) -> None:
    found = verify(fill.config, wait=60)
    assert found and {each.result for each in found.values()} == {"equal"}, found


def test_process_is_killed(same: Pair, tmp_path: Path) -> None:
    prepared(same)
    fill = filling(same, SLOW)
    runs = Runs(fill, tmp_path)
    with writers(same, CHANGES):
        for _ in range(4):
            before = filled(same)
            with runs.process() as process:
                eventually(lambda: filled(same) > before + 1000 or process.poll() is not None, 120)  # noqa: B023
                assert process.poll() is None, process.communicate()[1]
                process.send_signal(signal.SIGKILL)
                process.wait()
        assert filled(same) < 19_000, "it was killed before its end"
    runs.to_the_end()
    assert_equal(fill)


def test_target_is_lost(same: Pair) -> None:
    """In the middle of a packet, of its answer, and for some seconds."""
    prepared(same)
    with Proxy(same.target.port) as proxy:
        fill = filling(same, SLOW, host="127.0.0.1", port=proxy.port)
        with writers(same, CHANGES), fill.running():
            for number in range(8):
                part(fill, (fill.snapshot.rows if fill.snapshot else 0) + 1000)
                lost = len(fill.errors)
                proxy.cut_after(50 + 700 * number if number % 2 else 20 + number, "up" if number % 2 else "down")
                eventually(lambda: len(fill.errors) > lost, 90)  # noqa: B023
                proxy.pass_()
            assert fill.snapshot is not None and not fill.snapshot.ended_ms
            fill.complete()
            equal(same, fill)
    assert {error.code for error in fill.errors} <= {"E3401", "E3402", "E3409"}, fill.errors


def test_former_process_is_frozen(same: Pair, tmp_path: Path) -> None:
    """Another one fills meanwhile; the former one then writes nothing more."""
    prepared(same)
    fill = filling(same, SLOW)
    runs = Runs(fill, tmp_path)
    with writers(same, CHANGES), runs.process() as frozen:
        eventually(lambda: filled(same) > 2000 or frozen.poll() is not None, 120)
        frozen.send_signal(signal.SIGSTOP)
        for part in tmp_path.glob("state*"):
            shutil.copy(part, tmp_path / part.name.replace("state", "copy"))
        before = filled(same)
        with runs.process(state="copy") as other:
            eventually(lambda: filled(same) > before + 1500 or other.poll() is not None, 120)
            assert other.poll() is None, other.communicate()[1]
            frozen.send_signal(signal.SIGCONT)
            told = frozen.communicate(timeout=120)[1]
            assert frozen.returncode and ("E3410" in told or "E2207" in told), told
            assert other.poll() is None
    runs.to_the_end("copy")
    assert_equal(fill)


def test_snapshot_only(same: Pair, tmp_path: Path) -> None:
    """Killed once, continued, and refused when it is complete."""
    prepared(same)
    fill = filling(same, SLOW)
    runs = Runs(fill, tmp_path)
    with runs.process("--snapshot-only") as process:
        eventually(lambda: filled(same) > 2000 or process.poll() is not None, 120)
        assert process.poll() is None, process.communicate()[1]
    same.here("UPDATE a SET t = 'meanwhile' WHERE id < 100", "DELETE FROM c WHERE x = 4000")
    with runs.process("--snapshot-only") as process:
        told = process.communicate(timeout=200)[1]
        assert process.returncode == 0, told
    assert_equal(fill)
    with runs.process("--snapshot-only") as process:
        assert "E5007" in process.communicate(timeout=200)[1]
