"""Processes and their log lines over the API, in memory."""

from __future__ import annotations

import threading

import pytest

from replicator.coordination.logs.answers import LogAnswers
from replicator.coordination.logs.collector import LogCollector
from replicator.errors import ProcessError
from replicator.telemetry import log
from replicator.zookeeper.log_service import LogService
from server.process_logs import MOST_AT_ONCE, ProcessLogs
from tests.support.api import TASK, World
from tests.support.waiting import eventually


def test_lines_of_a_core_over_the_api(world: World) -> None:
    world.http.post("/tasks", content=TASK)
    core = world.core("host-a").stand("copy_hot_item", "running")
    answers = LogAnswers(core.coordinator, world.bus.layout, lambda: core.guid, lambda: b"begun\n")
    service = LogService(core.coordinator, answers, log.get_logger("test")).start()
    try:
        listed = world.http.get("/processes").json()["items"]
        assert listed == [{"id": core.guid, "type": "core", "name": "host-a", "pid": 42, "address": ""}]
        answer = world.http.get(f"/processes/{core.guid}/log")
        assert answer.status_code == 200, answer.text
        assert answer.json()["lines"] == "begun\n" and answer.json()["process"] == listed[0]
        layout = world.bus.layout
        eventually(lambda: not core.coordinator.children(layout.log_parts))
        assert core.coordinator.children(layout.log_requests) == []
        again = world.http.get(f"/processes/{core.guid}/log")
        assert again.json()["lines"] == "begun\n", "after a watch has fired"
    finally:
        service.stop()


@pytest.mark.parametrize("process", ["f" * 32, "x", "%2e%2e", ".."])
def test_a_process_that_is_not_there(world: World, process: str) -> None:
    answer = world.http.get(f"/processes/{process}/log")
    assert answer.status_code == 404 and answer.json()["error"]["code"] in ("E5110", "E5013")


def test_one_that_does_not_answer_and_too_many_at_once(world: World) -> None:
    world.http.post("/tasks", content=TASK)
    core = world.core("host-a").stand("copy_hot_item", "running")
    now, waiting, go = [0.0], threading.Semaphore(0), threading.Event()

    def wait(_: float) -> None:
        waiting.release()
        go.wait(30)
        now[0] += 10

    coordinator, layout = world.bus.coordinator, world.bus.layout
    logs = ProcessLogs(coordinator, layout, LogCollector(coordinator, layout, wait, lambda: now[0]))
    codes: list[str] = []

    def ask() -> None:
        with pytest.raises(ProcessError) as raised:
            logs.lines(core.guid, "me")
        codes.append(f"{raised.value.code} {raised.value.found}")

    threads = [threading.Thread(target=ask) for _ in range(MOST_AT_ONCE)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert waiting.acquire(timeout=30)
    ask()
    assert codes == ["E5111 4 requests"]
    go.set()
    for thread in threads:
        thread.join(30)
    assert codes[1:] == ["E5111 no answer within 5 s"] * MOST_AT_ONCE
    ask()
    assert codes[-1].startswith("E5111 no answer"), "they are free again"
    assert coordinator.children(layout.log_requests) == []
