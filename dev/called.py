"""`python -m dev.called`: writes core/called.txt, the functions that a worker calls until it rests."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import threading
import time
from collections import defaultdict
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

from core import called
from core.protocol import Progress, Recall, Recalled, Remember, Saved, WorkerSpec
from core.worker import main as work
from dev.bench.__main__ import start_servers
from dev.bench.latency import _INSERT, here
from dev.bench.load import Load
from dev.bench.ours import task
from dev.bench.runner import Runner
from dev.bench.sections import DELIVERIES

_ROWS, _SECONDS = 50, 10.0


def main() -> None:
    importlib.import_module("core.template")  # what it has done, no worker does
    database, kafka = start_servers()
    try:
        Load(database).prepare()
        os.environ["BENCH_PASSWORD"] = database.replicator[1]
        runner = Runner(database, kafka)
        found: set[tuple[str, str]] = set()
        for delivery in DELIVERIES:
            found |= _called(runner, f"called_{delivery}", delivery)
    finally:
        database.close()
        kafka.close()
    modules = defaultdict(list)
    for module, name in sorted(found):
        modules[module].append(name)
    called.LIST.write_text("".join(f"{module} {' '.join(names)}\n" for module, names in modules.items()))


def _called(runner: Runner, name: str, delivery: str) -> set[tuple[str, str]]:
    runner.create(name)
    config = task(runner.job("ours", here(runner), name, short=False, delivery=delivery))
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    told, tell = context.Pipe(duplex=False)
    worker = context.Process(target=_watched, args=(theirs, tell, config), daemon=True)
    worker.start()
    began, rows = time.monotonic(), 0
    while not told.poll(0.05):
        while ours.poll(0):
            message = ours.recv()
            if isinstance(message, Progress):
                ours.send(Saved(message.number))
            elif isinstance(message, Recall | Remember):
                ours.send(Recalled(message.number))
        if rows < _ROWS and time.monotonic() - began > 3:
            rows += 1
            runner.database.execute(_INSERT, (time.time_ns(),))
    found: set[tuple[str, str]] = told.recv()
    worker.kill()
    return found


def _watched(way: Connection, tell: Connection, config: dict[str, Any]) -> None:
    found: set[tuple[str, str]] = set()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            name = (str(frame.f_globals.get("__name__")), frame.f_code.co_qualname)
            if " " not in name[1] and not name[0].startswith("dev."):
                found.add(name)

    def end() -> None:
        time.sleep(_SECONDS)
        tell.send(set(found))

    threading.Thread(target=end, daemon=True).start()
    sys.setprofile(seen)
    threading.setprofile(seen)
    context = multiprocessing.get_context("fork")
    spec = WorkerSpec(task=config["name"], uid="called", epoch=1, host="called", config=config)
    deadline = context.RawValue("d", time.monotonic() + 3600)
    work(way, deadline, context.RawValue("d", 0.0), spec, None)


if __name__ == "__main__":
    main()
