"""Our path with what a Core's worker has besides: the lease in shared memory and the thread that watches it, the pipe
to its agent with the checkpoints and the figures, five times a second. The agent is another process, as there.

The guards' CPU time is counted, too: their threads by the clocks of those, their calls by the clock of the caller.
"""

from __future__ import annotations

import multiprocessing
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeVar

from core.channel import WorkerEnd, pair
from core.protocol import Progress, Saved
from core.worker import PROGRESS_SECONDS, AgentObserver, AgentStore, Link, _watch_lease
from dev.bench import ours
from dev.bench.job import Job
from dev.bench.ours import steady as steady  # of the run that has just ended, as for ours
from replicator.model.term import Term
from replicator.pipeline import malloc
from replicator.telemetry import log

_CALIBRATION = 50_000

P = ParamSpec("P")
R = TypeVar("R")


class Account:
    """CPU seconds of the guards."""

    def __init__(self) -> None:
        self.calls_s = 0.0
        self.checks = 0
        self.threads: list[threading.Thread] = []
        self.term: Term | None = None

    def timed(self, call: Callable[P, R]) -> Callable[P, R]:
        def timed(*args: P.args, **kwargs: P.kwargs) -> R:
            began = time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                self.calls_s += time.thread_time() - began

        return timed

    def seconds(self) -> float:
        threads = sum(time.clock_gettime(time.pthread_getcpuclockid(each.ident or 0)) for each in self.threads)
        return threads + self.calls_s + self._checks_s()

    def _checks_s(self) -> float:
        """A check takes less than a clock does: they are counted, and the price of one is taken of many."""
        checks, term = self.checks, self.term
        if term is None:
            return 0.0
        began = time.thread_time()
        for _ in range(_CALIBRATION):
            term.check()
        return (time.thread_time() - began) / _CALIBRATION * checks


_account = Account()


def guards_s() -> float:
    """Of the run that has just ended."""
    return _account.seconds()


class _CountedTerm(Term):
    def check(self) -> None:
        _account.checks += 1
        super().check()


def run(job: Job) -> int:
    deadline = multiprocessing.RawValue("d", float("inf"))
    term = _account.term = _CountedTerm(job.name, "bench", 1, lambda: float(deadline.value))
    link = Link(prepare())
    store = AgentStore(link, None)
    _begin("lease", _watch_lease, term, multiprocessing.RawValue("d", 0.0))
    _begin("agent", link.listen, None)
    observer: Any = AgentObserver(link, store, log.get_logger("worker"))
    observer.progress = _account.timed(observer.progress)
    saving: Any = store
    saving.save = _account.timed(store.save)
    return ours.run(job, term=term, store=store, observer=observer, save_interval=PROGRESS_SECONDS)


@cache
def prepare() -> Any:
    """The way to the agent, which is there before anything is measured. It is not forked from this process: a page that
    two share costs whoever writes to it first."""
    malloc.keep()  # as a Core's template, before there are threads: each would get a place of its own to allocate from
    near, there = pair()
    program = f"from dev.bench.guarded import agent; agent({near.fileno()})"
    subprocess.Popen([sys.executable, "-c", program], pass_fds=[near.fileno()])  # ends with us
    near.close()
    far = WorkerEnd(there)
    far.receive()
    return far


def _begin(name: str, target: Callable[..., Any], *args: object) -> None:
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    thread.start()
    _account.threads.append(thread)


def agent(descriptor: int) -> None:
    """Reads what the worker says, and says of each checkpoint that it is saved."""
    connection = WorkerEnd(socket.socket(fileno=descriptor))
    try:
        connection.send("ready")
        while True:
            message = connection.receive()
            if isinstance(message, Progress):
                connection.send(Saved(message.number))
    except (EOFError, OSError):
        return
