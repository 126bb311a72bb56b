"""An outage is logged with its reason, again at least once a minute, and its end once."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any, cast

from replicator.coordination.ports import Connection
from replicator.zookeeper.outage_log import OutageLog, Schedule, Source


class Coordinator:
    hosts = "zk1:2181"
    connection = Connection.LOST
    code = "E4001"

    def reasons(self) -> str:
        return "zk1:2181: connection refused"

    def on_connection(self, listener: Any) -> None:
        self.listener = listener


class Log:
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.written = threading.Event()

    def error(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))
        self.written.set()

    info = error


def test_lines_of_an_hour_without_zookeeper() -> None:
    coordinator, log = Coordinator(), Log()
    outages = OutageLog(cast(Source, coordinator), log)
    outage: Schedule | None = None
    times: list[int] = []
    for now in range(3600):
        outage = outages.step(outage, float(now))
        if len(log.lines) > len(times):
            times.append(now)
    assert times[:6] == [5, 10, 20, 40, 80, 140]
    assert max(later - earlier for earlier, later in pairwise(times)) == 60, "no minute is silent"
    assert len(times) < 70, "the log is not flooded"
    event, fields = log.lines[-1]
    assert event == "waiting for zookeeper"
    assert fields["reason"] == "zk1:2181: connection refused" and fields["code"] == "E4001"
    assert fields["servers"] == "zk1:2181" and fields["for_s"] == times[-1]
    coordinator.connection = Connection.CONNECTED
    assert outages.step(outage, 3600.0) is None
    assert log.lines[-1] == ("zookeeper is connected again", {"after_s": 3600})


def test_a_short_outage_is_not_logged() -> None:
    coordinator, log = Coordinator(), Log()
    outages = OutageLog(cast(Source, coordinator), log)
    outage = outages.step(outages.step(None, 0.0), 4.0)
    coordinator.connection = Connection.CONNECTED
    assert outages.step(outage, 4.5) is None
    assert outages.step(None, 9.0) is None
    assert log.lines == []


def test_the_thread_notices_a_lost_connection_and_ends(monkeypatch: Any) -> None:
    monkeypatch.setattr("replicator.zookeeper.outage_log.FIRST_SECONDS", 0.01)
    coordinator, log = Coordinator(), Log()
    coordinator.connection = Connection.CONNECTED
    outages = OutageLog(cast(Source, coordinator), log).start()
    coordinator.connection = Connection.SUSPENDED
    coordinator.listener(Connection.SUSPENDED)
    assert log.written.wait(30)
    outages.stop()
    outages._thread.join(30)
    assert not outages._thread.is_alive()
