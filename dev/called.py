"""`python -m dev.called`: writes core/called.txt, the functions that a worker calls until it rests, and core/names.txt,
the names in them."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import sys
import threading
import time
from collections import defaultdict
from multiprocessing.connection import Connection
from socket import socket
from types import FrameType
from typing import Any

from core import called, names
from core.channel import AgentEnd, pair
from core.protocol import Progress, Recall, Recalled, Remember, Saved, WorkerSpec
from core.worker import main as work
from dev.bench.command import start_servers
from dev.bench.latency import _INSERT, here
from dev.bench.load import Load
from dev.bench.ours import task
from dev.bench.runner import Runner
from dev.bench.sections import DELIVERIES
from replicator.model.checkpoint import Checkpoint

_ROWS, _SECONDS = 50, 10.0


def main() -> None:
    importlib.import_module("core.template")  # what it has done, no worker does
    database, kafka = start_servers()
    try:
        Load(database).prepare()
        os.environ["REPL_BENCH_PASSWORD"] = database.replicator[1]
        runner = Runner(database, kafka)
        found: set[tuple[str, str]] = set()
        for delivery in DELIVERIES:
            name = f"called_{delivery}"
            runner.create(name)
            config = task(runner.job("ours", here(runner), name, short=False, delivery=delivery))
            last: Checkpoint | None = None
            for epoch in (1, 2):  # a task's first worker, and the one that goes on
                called_now, last = _called(runner, WorkerSpec(name, "called", epoch, "called", config, last))
                found |= called_now
    finally:
        database.close()
        kafka.close()
    write(found)


def write(found: set[tuple[str, str]]) -> None:
    modules = defaultdict(list)
    for module, name in sorted(found):
        modules[module].append(name)
    called.LIST.write_text("".join(f"{module} {' '.join(inside)}\n" for module, inside in modules.items()))
    gc.unfreeze()
    words = set[str]().union(*(called.words(each.__code__) for each, _ in called.find(frozenset(found))))
    names.LIST.write_text("".join(f"{word}\n" for word in sorted(words) if word.isascii()))


def _called(runner: Runner, spec: WorkerSpec) -> tuple[set[tuple[str, str]], Checkpoint | None]:
    """What a worker called, and how far it came."""
    last = spec.checkpoint
    context = multiprocessing.get_context("fork")
    way, theirs = pair()
    ours = AgentEnd(way)
    told, tell = context.Pipe(duplex=False)
    worker = context.Process(target=_watched, args=(theirs, tell, spec), daemon=True)
    worker.start()
    began, rows = time.monotonic(), 0
    while not told.poll(0.05):
        for message in ours.receive() or []:
            if isinstance(message, Progress):
                last = message.checkpoint
                ours.send(Saved(message.number))
            elif isinstance(message, Recall | Remember):
                ours.send(Recalled(message.number))
        if rows < _ROWS and time.monotonic() - began > 3:
            rows += 1
            runner.database.execute(_INSERT, (time.time_ns(),))
    found: set[tuple[str, str]] = told.recv()
    worker.kill()
    return found, last


def _watched(way: socket, tell: Connection, spec: WorkerSpec) -> None:
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
    deadline = context.RawValue("d", time.monotonic() + 3600)
    work(way, deadline, context.RawValue("d", 0.0), spec, None)


if __name__ == "__main__":
    main()
