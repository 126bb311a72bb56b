"""When a Core starts a relay, and whom it tells."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from core import relay
from core.protocol import RelaySpec, ShareSource, SourceShared, ToWorker, WorkerSpec
from core.relays import Relays
from replicator.net import connections


class Worker:
    def __init__(self) -> None:
        self.told: list[ToWorker] = []

    def send(self, message: ToWorker) -> None:
        self.told.append(message)


class Process:
    pid = 7
    alive = True


class Bench:
    """Tasks with a worker each, and the relays that were started."""

    def __init__(self) -> None:
        self.workers: dict[str, Worker] = {}
        self.started: list[RelaySpec] = []
        self.processes: list[Process] = []
        self.refuse = False
        self.relays = Relays(self._start, lambda task, worker: self.workers.get(task) is worker)

    def _start(self, spec: RelaySpec) -> Process:
        if self.refuse:
            raise OSError("no more processes")
        self.started.append(spec)
        self.processes.append(Process())
        return self.processes[-1]

    def ask(self, task: str, key: str = "k") -> Worker:
        worker = self.workers.setdefault(task, Worker())
        spec = WorkerSpec(task, "uid", 1, "host-a", {"name": task}, installation="here")
        self.relays.asked(spec, worker, ShareSource(key, "db:3306", "r"))
        return worker


def test_one_task_alone_has_nobody_to_share_with() -> None:
    bench = Bench()
    worker = bench.ask("a")
    bench.ask("a")
    assert not bench.started and not worker.told


def test_two_tasks_are_told_of_one_relay_and_a_third_as_well() -> None:
    bench = Bench()
    workers = [bench.ask(task) for task in "abc"]
    assert len(bench.started) == 1
    spec = bench.started[0]
    assert (spec.config, spec.installation, spec.host) == ({"name": "b"}, "here", "host-a")
    for worker in workers:
        assert worker.told == [SourceShared("k", spec.name)]


def test_other_streams_are_not_shared_with() -> None:
    bench = Bench()
    bench.ask("a")
    bench.ask("b", "other")
    assert not bench.started


def test_a_task_that_wants_another_stream_no_longer_counts_for_the_first() -> None:
    bench = Bench()
    bench.ask("a")
    bench.ask("a", "other")
    bench.ask("b")
    assert not bench.started


def test_a_worker_that_is_gone_does_not_count() -> None:
    bench = Bench()
    bench.ask("a")
    bench.workers["a"] = Worker()
    bench.ask("b")
    assert not bench.started


def test_a_relay_that_has_ended_is_replaced() -> None:
    bench = Bench()
    bench.ask("a")
    bench.ask("b")
    bench.processes[0].alive = False
    again = bench.ask("a")
    assert len(bench.started) == 2
    assert bench.started[0].name != bench.started[1].name
    assert again.told[-1] == SourceShared("k", bench.started[1].name)


def test_a_process_that_cannot_be_made_is_tried_again() -> None:
    bench = Bench()
    bench.refuse = True
    bench.ask("a")
    assert not bench.ask("b").told
    bench.refuse = False
    assert bench.ask("b").told == [SourceShared("k", bench.started[0].name)]


def test_a_relay_obeys_the_list_of_outgoing_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the Core that starts it knew it then."""
    seen: list[tuple[str, ...] | None] = []

    def run(*given: Any) -> None:
        seen.append(connections.cluster_list())

    monkeypatch.setattr(relay, "run_relay", run)
    monkeypatch.setattr(relay, "parse_task", lambda config: config)
    monkeypatch.setattr(signal, "signal", lambda *given: None)
    monkeypatch.setattr(os, "_exit", lambda status: None)
    try:
        connections.set_cluster_list(("10.1.0.0/16",))
        bench = Bench()
        bench.ask("a")
        bench.ask("b")
        connections.set_cluster_list(None)  # the process of the relay knows nothing of it
        relay.main(bench.started[0], None)
    finally:
        connections.set_cluster_list(None)
    assert bench.started[0].outgoing == ("10.1.0.0/16",)
    assert seen == [("10.1.0.0/16",)]
