"""A task run to the end of the source's log as it is now, in a process of its own: which path it takes is decided when
the package is loaded, and its memory is only its own.

    python -m tests.support.streamed < configuration.json

`many_tables` in the configuration: not its source, but a log in memory with a row of each of so many tables.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

PASSWORD: Final = {"TEST_PASSWORD": "replicator"}
REFERENCE: Final = "env:TEST_PASSWORD"


class Streamed(NamedTuple):
    """rows, dead_letters: of the last checkpoint; idle_mb, peak_mb: resident memory before the first row and at most;
    error: its code, "" without one."""

    rows: int
    dead_letters: int
    idle_mb: float
    peak_mb: float
    seconds: float
    error: str


def streamed(config: dict[str, Any], *, compiled: bool | None = None, timeout: float = 120) -> Streamed:
    """`config`: of the task, as in its file. `compiled`: which path; None: whichever there is."""
    environment = {**os.environ, **PASSWORD}
    if compiled is not None:
        environment["REPLICATOR_COMPILED"] = "1" if compiled else "0"
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.streamed"],
        input=json.dumps(config),
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return Streamed(*json.loads(done.stdout.splitlines()[-1]))


def _main() -> None:
    import time

    from replicator.assembly.pipeline import build_pipeline, build_source
    from replicator.checkpoint.memory_store import MemoryStore
    from replicator.config.load import parse_task
    from replicator.errors import ReplicatorError
    from replicator.model.checkpoint import Checkpoint
    from replicator.model.position import Position
    from replicator.model.term import Term
    from replicator.pipeline.delivery_progress import DeliveryCounters

    class Silent:
        def streaming(self, position: Position) -> None: ...

        def waiting(self, error: ReplicatorError) -> None:
            print(error, file=sys.stderr)

        def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None: ...

    data = json.load(sys.stdin)
    tables = data.pop("many_tables", 0)
    config = parse_task(data)
    store = MemoryStore()
    term = Term.unlimited(config.name)
    source = _log_of(tables) if tables else build_source(config)
    pipeline = build_pipeline(config, term=term, store=store, observer=Silent(), source=source)
    end = source.end_position()
    idle, began, code = _peak_mb(), time.monotonic(), ""
    try:
        pipeline.run(end)
    except ReplicatorError as error:
        code = error.code
        print(error, file=sys.stderr)
    last = store.load() or Checkpoint(end)
    seconds = round(time.monotonic() - began, 2)
    print(json.dumps(Streamed(last.rows, last.dead_letters, idle, _peak_mb(), seconds, code)))


def _log_of(tables: int) -> Any:
    from replicator.model.position import Position
    from replicator.source.memory_source import MemorySource
    from tests.support.binlog_writer import VARCHAR, Column, MemoryBinlog, TableSpec

    columns = (*(Column(f"c{number}", nullable=number > 0) for number in range(9)), Column("t", VARCHAR))
    binlog = MemoryBinlog()
    for number in range(tables):
        table = TableSpec(f"db{number % 100}", f"table_{number:05}", columns, id=100 + number)
        binlog.insert((*range(9), "text"), table=table)
    return MemorySource(binlog.server, Position(binlog.writer.file, 4))


def _peak_mb() -> float:
    """VmHWM in MiB: `ru_maxrss` remembers the process that started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024, 1)


if __name__ == "__main__":
    _main()
