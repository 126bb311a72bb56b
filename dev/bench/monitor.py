"""Measures one Monitor with many tasks and many browsers: CPU, memory, and what each browser is sent.

The bus is made of records alone: machines report figures of their tasks once a second, as Cores do. Each browser is a
connection with an event stream that is read as fast as it comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from dev.bench.report import Entry, figure
from dev.cluster import CLI, wait_for
from dev.paths import TREE
from dev.servers import ZooKeeper
from dev.servers.launch import launch
from dev.servers.ports import free_port
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.machines.machines import Machines
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import CommitRecord, InstanceRecord, MachineRecord, TaskFigures, dump
from replicator.coordination.tasks.registry import Registry
from replicator.model.activity import Activity
from replicator.model.checkpoint import Checkpoint
from replicator.model.histogram import Histogram
from replicator.model.position import Position
from replicator.zookeeper.client import connect

_MACHINES = 5
_SETTLE_SECONDS = 5.0
_ROOT = "/bench"


def monitor(tasks: int, browsers: int, busy: int, seconds: float) -> Iterator[Entry]:
    """tasks: of five Cores; browsers: with an event stream; busy: tasks whose figures change each second; seconds: that
    are measured."""
    with contextlib.ExitStack() as open_:
        zookeeper = ZooKeeper(fast=True)
        open_.callback(zookeeper.close)
        zookeeper.start()
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory(prefix="mysql-replicator-bench-")))
        sessions = [connect(zookeeper.address, session_timeout=10, wait=60) for _ in range(min(_MACHINES, tasks))]
        for session in sessions:
            open_.callback(session.close)
        bus = _Bus(sessions, tasks)
        open_.callback(bus.stop)
        bus.create()
        bus.start(0)
        address = f"http://127.0.0.1:{free_port()}"
        process = _process(zookeeper.address, address, folder, browsers)
        open_.callback(_end, process)
        wait_for(lambda: _is_ready(process, address), "the Monitor has read the bus", 120, every=0.2)
        yield figure("monitor.tasks", "tasks", [tasks], 0)
        yield figure("monitor.browsers", "browsers", [browsers], 0)
        yield figure("monitor.busy_tasks", "tasks", [busy], 0)
        watched = psutil.Process(process.pid)
        time.sleep(_SETTLE_SECONDS)
        yield figure("monitor.idle.cpu_alone", "% of a core", [_cpu_over(watched, seconds)])
        memory = watched.memory_info().rss
        crowd = _Crowd(address, browsers)
        open_.callback(crowd.stop)
        crowd.start()
        wait_for(lambda: crowd.reading == browsers, lambda: f"{browsers} streams, not {crowd.reading}", 120, every=0.2)
        # In this order: the curve of a task that was busy goes on changing for minutes.
        for changing, name in ((0, "idle"), (busy, "busy")):
            bus.changing = changing
            time.sleep(_SETTLE_SECONDS)
            before, events = crowd.bytes, crowd.events
            cpu = _cpu_over(watched, seconds)
            sent, told = crowd.bytes - before, crowd.events - events
            yield figure(f"monitor.{name}.cpu", "% of a core", [cpu])
            yield figure(f"monitor.{name}.kb_per_browser", "kB/s", [sent / browsers / seconds / 1000], 2)
            yield figure(f"monitor.{name}.events_per_browser", "/s", [told / browsers / seconds], 2)
        if crowd.reading != browsers:
            raise RuntimeError(f"{browsers - crowd.reading} streams have ended during the measurement")
        yield figure("monitor.memory", "MB RSS", [watched.memory_info().rss / 1e6])
        yield figure("monitor.memory_per_browser", "kB RSS", [(watched.memory_info().rss - memory) / browsers / 1000])
        crowd.stop()
        time.sleep(_SETTLE_SECONDS)
        yield figure("monitor.busy.cpu_alone", "% of a core", [_cpu_over(watched, seconds)])


def _process(zookeeper: str, address: str, folder: Path, browsers: int) -> subprocess.Popen[bytes]:
    command = [str(CLI), "monitor", "--zookeeper", zookeeper, "--root", _ROOT]
    command += ["--listen", urlsplit(address).netloc, "--history", str(folder / "monitor.sqlite")]
    return launch([*command, "--max-streams", str(browsers)], folder / "monitor.log", TREE)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_ready(process: subprocess.Popen[bytes], address: str) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"the Monitor has ended with status {process.returncode}")
    where = urlsplit(address)

    async def ask() -> bool:
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(f"GET /healthz/ready HTTP/1.1\r\nHost: {where.netloc}\r\nConnection: close\r\n\r\n".encode())
        status = (await reader.readline()).split()
        writer.close()
        return status[1:2] == [b"200"]

    try:
        return asyncio.run(ask())
    except OSError:
        return False


def _cpu_over(process: psutil.Process, seconds: float) -> float:
    before, began = sum(process.cpu_times()[:2]), time.monotonic()
    time.sleep(seconds)
    return (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - began) * 100


class _Bus:
    """The records of tasks and machines. `changing`: of how many tasks the figures change each second."""

    def __init__(self, sessions: Sequence[Coordinator], tasks: int) -> None:
        self._sessions, self._layout = sessions, Layout(_ROOT)
        self._names = [f"task_{number:04d}" for number in range(tasks)]
        self._processes = [uuid.uuid4().hex for _ in sessions]
        self._guids = {name: uuid.uuid4().hex for name in self._names}
        self._began_ms = now_ms()
        self._turn = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bench-cores", daemon=True)
        self.changing = 0

    def create(self) -> None:
        for number, name in enumerate(self._names):
            machine = number % len(self._sessions)
            session, host = self._sessions[machine], f"host-{machine}"
            Registry(session, self._layout).create(name, _config(name), "bench")
            record = InstanceRecord(host, os.getpid(), self._processes[machine], self._began_ms, "running", 10.0)
            prefix = self._layout.contender_prefix(name, host, self._guids[name])
            session.create(prefix, dump(record), ephemeral=True, sequential=True, parents=True)
            session.create(self._layout.last_commit(name), dump(self._commit(0)))

    def start(self, changing: int) -> None:
        self.changing = changing
        self._report()
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(1.0):
            self._report()

    def _report(self) -> None:
        self._turn += 1
        for machine, session in enumerate(self._sessions):
            numbers = range(machine, len(self._names), len(self._sessions))
            tasks = {self._names[number]: self._figures(number) for number in numbers}
            record = MachineRecord(
                host=f"host-{machine}",
                pid=os.getpid(),
                process=self._processes[machine],
                started_ms=self._began_ms,
                time_ms=now_ms(),
                version="bench",
                cores=8,
                session_timeout_s=10.0,
                tasks=tasks,
            )
            Machines(session, self._layout).publish(record.host, record)
            for number in (each for each in numbers if each < self.changing):
                session.set(self._layout.last_commit(self._names[number]), dump(self._commit(self._turn)))

    def _commit(self, turn: int) -> CommitRecord:
        place = Position("binlog.000042", 88_123_456 + 400_000 * turn)
        return CommitRecord(epoch=1, checkpoint=Checkpoint(place, 1, now_ms(), now_ms(), 1000 * turn, 100 * turn))

    def _figures(self, number: int) -> TaskFigures:
        turn = self._turn if number < self.changing else 0
        figures = TaskFigures(state="running", guid=self._guids[self._names[number]])
        figures.since_ms, figures.rows, figures.transactions = self._began_ms, 1000 * turn, 100 * turn
        figures.position = f"binlog.000042:{88_123_456 + 400_000 * turn}"
        figures.lag_s, figures.rows_per_s, figures.lease_left_s = (
            0.01 * (turn % 7),
            float(turn and 900 + turn % 90),
            6.0,
        )
        figures.last_event_ms = figures.checkpoint_ms = self._began_ms + 1000 * turn
        durations = Histogram((0, 9 * turn, turn), 5 * turn)
        figures.activity = Activity((10 * turn,) * 4, (turn, turn), durations, 400_000 * turn, turn % 50, turn % 5000)
        return figures


def _config(name: str) -> dict[str, object]:
    return {
        "name": name,
        "labels": {"app": f"app-{name[-1]}"},
        "source": {"type": "mysql", "host": "127.0.0.1", "port": 1, "user": "replicator", "tables": ["shop.*"]},
        "sink": {"type": "kafka", "bootstrap_servers": ["127.0.0.1:1"]},
    }


class _Crowd:
    """Event streams of many browsers, in a process-wide thread. `reading`: streams that are open and have had an
    event; bytes, events: of all of them."""

    def __init__(self, address: str, browsers: int) -> None:
        self._where, self._browsers = urlsplit(address), browsers
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="bench-browsers", daemon=True)
        self.reading = self.bytes = self.events = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        def end() -> None:
            for task in asyncio.all_tasks(self._loop):
                task.cancel()

        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(end)
            self._thread.join(10)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._all())
        self._loop.close()

    async def _all(self) -> None:
        await asyncio.gather(*(self._browser(number) for number in range(self._browsers)))

    async def _browser(self, number: int) -> None:
        await asyncio.sleep(number / self._browsers)
        reader, writer = await asyncio.open_connection(self._where.hostname, self._where.port)
        writer.write(
            f"GET /events HTTP/1.1\r\nHost: {self._where.netloc}\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        seen = False
        try:
            while data := await reader.read(1 << 16):
                self.bytes += len(data)
                self.events += data.count(b"id: ")
                if not seen and b"id: " in data:
                    seen = True
                    self.reading += 1
        finally:
            self.reading -= seen
            writer.close()
