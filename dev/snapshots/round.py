"""One round in this process: a task with a snapshot whose sink is in memory, beside writers, DDL and faults."""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from typing import Final

import msgspec

from dev.faults.proxy import Proxy
from dev.servers.database import Database
from dev.snapshots.faults import Crash, Faults
from dev.snapshots.scene import Findings, Scene
from dev.snapshots.verdict import Verdict
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.quarantine import TaskOrders
from replicator.model.snapshot_orders import SnapshotOrders
from replicator.model.term import Term
from replicator.pipeline.pipeline import Pipeline
from replicator.sink.memory_sink import MemoryBroker, MemorySink

_END_S: Final = 60.0
"""For the rest of snapshot and log, once nobody writes any more and nothing fails."""


class Options(msgspec.Struct, frozen=True):
    """Of one round; see `dev.snapshots.__main__`."""

    seed: str
    seconds: float = 4.0
    definitions: bool = True
    faults: bool = True


class _Observer:
    """Remembers whether there was a stream, and errors."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.sessions = 0
        self.errors: list[ReplicatorError] = []

    def streaming(self, position: Position) -> None:
        self.sessions += 1
        self.began.set()

    def waiting(self, error: ReplicatorError) -> None:
        self.errors.append(error)

    def progress(self, checkpoint: object, figures: object) -> None: ...


class Round:
    """
    Args:
        database: name of one that does not exist yet.
    """

    def __init__(self, server: Database, database: str, options: Options) -> None:
        self._options = options
        self._scene = Scene(server, database, options.seed)
        self._chance = self._scene.chance
        self._broker, self._store, self._history = MemoryBroker(), MemoryStore(), MemoryHistory()
        self._observer = _Observer()
        self._sink: MemorySink | None = None
        self._pipeline: Pipeline | None = None
        self._paused = False
        self._over = threading.Event()
        self._failure: BaseException | None = None
        self._port = 0

    def run(self) -> Findings:
        scene, options = self._scene, self._options
        scene.make()
        with Proxy(scene.place.server.port) as proxy:
            self._port = proxy.port
            faults = Faults(
                scene.place,
                proxy,
                lambda: self._sink,
                self._restart,
                self._toggle_pause,
                seed=options.seed,
                every=0.4,
            )
            task = threading.Thread(target=self._task, name="task", daemon=True)
            for writer in scene.writers:
                writer.start()
            task.start()
            try:
                since = self._go_on(faults)
            finally:
                scene.stop()
                faults.stop()
                self._paused = False
                self._over.set()
                self._restart()
                task.join(2 * _END_S)
            verdict = self._judged(since)
        errors = [str(error)[:300] for error in self._observer.errors]
        return scene.findings(verdict, faults=faults.done, errors=errors, sessions=self._observer.sessions)

    def _go_on(self, faults: Faults) -> int:
        """The version as of which the task must have everything."""
        if not self._observer.began.wait(30):
            raise TimeoutError(f"no stream: {self._failure or self._observer.errors}")
        since = self._scene.begun()
        if self._options.definitions:
            self._scene.administrator.start()
        if self._options.faults:
            faults.start()
        end = time.monotonic() + self._options.seconds
        while time.monotonic() < end and self._failure is None:
            time.sleep(0.05)
        return since

    # The task

    def _task(self) -> None:
        """One pipeline after the other, until the end."""
        try:
            while not self._over.is_set():
                self._run_pipeline()
            self._run_to_the_end()
        except BaseException as error:
            self._failure = error

    def _build(self) -> Pipeline:
        config = parse_task(self._scene.configuration(self._port, whole=self._over.is_set()))
        self._sink = MemorySink(config.name, self._broker)
        self._pipeline = build_pipeline(
            config,
            term=Term.unlimited(config.name),
            store=self._store,
            observer=self._observer,
            sink=self._sink,
            history=self._history,
            orders=TaskOrders(snapshots=SnapshotOrders(paused=self._paused)),
            save_interval=self._chance.choice((0.0, 0.3, 5.0)),
        )
        return self._pipeline

    def _run_pipeline(self) -> None:
        pipeline = self._build()
        if self._over.is_set():
            return
        with contextlib.suppress(Crash):
            pipeline.run()

    def _run_to_the_end(self) -> None:
        while True:
            pipeline = self._build()
            watch = threading.Timer(_END_S, pipeline.drain)
            watch.start()
            try:
                config = parse_task(self._scene.configuration(self._port, whole=True))
                pipeline.run(build_source(config).end_position())
            except Crash:  # that was asked for before
                continue
            finally:
                late = not watch.is_alive()
                watch.cancel()
            if late:
                raise TimeoutError(f"no end in {_END_S} s: {self._store.load()}, {self._observer.errors[-3:]}")
            return

    def _restart(self) -> None:
        if self._pipeline is not None:
            self._pipeline.drain()

    def _toggle_pause(self) -> None:
        self._paused = not self._paused
        self._restart()

    # The verdict

    def _judged(self, since: int) -> Verdict:
        if self._failure is not None:
            verdict = Verdict()
            trace = "".join(traceback.format_exception(self._failure)[-6:])
            verdict.add("the task has ended", f"{type(self._failure).__name__}: {self._failure}\n{trace}")
            return verdict
        verdict = self._scene.judged(self._broker.records, since)
        last = self._store.load()
        progress = last.position.snapshot if last is not None else None
        if progress is None or not progress.ended_ms:
            verdict.add("the snapshot has not ended", str(progress))
        return verdict
