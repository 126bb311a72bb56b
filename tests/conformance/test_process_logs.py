"""Log lines of processes, fetched through the tree: over the memory twin and over a real ZooKeeper."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable

import pytest

from replicator.coordination.layout import Layout
from replicator.coordination.logs.answers import LogAnswers
from replicator.coordination.logs.collector import LogCollector
from replicator.coordination.logs.nodes import PART, LogPart
from replicator.coordination.logs.processes import Process, processes
from replicator.coordination.machines.machines import Machines
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import MachineRecord, MonitorRecord, ServerRecord, dump
from replicator.errors import NotConnected

Session = Callable[[], Coordinator]
GUIDS = [digit * 32 for digit in "abcd"]


@pytest.fixture
def layout() -> Layout:
    return Layout(f"/logs-{uuid.uuid4().hex}")


def incompressible(size: int) -> bytes:
    return b"\n".join(uuid.uuid4().hex.encode() for _ in range(size // 33)) + b"\n"


def collecting(zk: Coordinator, layout: Layout, *each: LogAnswers, seconds: float = 1.0) -> LogCollector:
    """Its clock advances with the turns of those that answer."""
    now = [0.0]

    def wait(_: float) -> None:
        now[0] += seconds / 20
        for one in each:
            one.step()

    return LogCollector(zk, layout, wait, lambda: now[0])


def answering(zk: Coordinator, layout: Layout, guid: str, lines: bytes) -> LogAnswers:
    return LogAnswers(zk, layout, lambda: guid, lambda: lines)


def left(zk: Coordinator, layout: Layout) -> list[str]:
    return zk.children(layout.log_requests) + zk.children(layout.log_parts)


def test_lines_of_those_that_answer_and_nothing_stays(session: Session, layout: Layout) -> None:
    large = incompressible(3 * PART)
    lines = [b"one\ntwo\n", large, b""]
    each = [answering(session(), layout, guid, given) for guid, given in zip(GUIDS, lines, strict=False)]
    zk = session()
    collector = collecting(zk, layout, *each)
    found = collector.collect(GUIDS, "me", 1.0)
    assert {guid: text.encode() for guid, text in found.items()} == dict(zip(GUIDS, lines, strict=False)), "one is away"
    for one in each:
        one.step()
    assert left(zk, layout) == []
    assert collector.collect([GUIDS[0]], "me", 1.0) == {GUIDS[0]: "one\ntwo\n"}, "and again"


def test_more_processes_than_one_request_has(session: Session, layout: Layout) -> None:
    guids = [f"{number:032x}" for number in range(20)]
    zk = session()
    each = [answering(zk, layout, guid, guid.encode()) for guid in guids]
    assert collecting(zk, layout, *each).collect(guids, "me", 1.0) == {guid: guid for guid in guids}


def test_a_collector_or_a_process_that_dies_leaves_nothing(session: Session, layout: Layout) -> None:
    zk, dying = session(), session()
    answers = LogAnswers(zk, layout, lambda: GUIDS[0], lambda: b"x\n")
    seen: list[str] = []

    def die(_: float) -> None:
        answers.step()
        seen.extend(zk.children(layout.log_parts))
        dying.close()

    with pytest.raises(NotConnected):
        LogCollector(dying, layout, die).collect(GUIDS[:1], "me", 60)
    assert seen, "it was answered"
    answers.step()
    assert left(zk, layout) == []


def test_what_is_damaged_counts_as_no_answer(session: Session, layout: Layout) -> None:
    zk = session()
    bomb = zlib.compress(b"x" * (50 << 20))

    def damage(_: float) -> None:
        name = zk.children(layout.log_requests)[0]
        for guid, data in zip(
            GUIDS, (b"{", dump(LogPart(data=b"not compressed")), dump(LogPart(data=bomb))), strict=False
        ):
            if zk.exists(path := layout.log_part(name, guid, 0, 1)) is None:
                zk.create(path, data, ephemeral=True)

    found = LogCollector(zk, layout, damage).collect(GUIDS[:3], "me", 60)
    assert list(found) == [GUIDS[2]] and len(found[GUIDS[2]]) == 1 << 20, "bounded when it is unpacked"


def test_a_damaged_request_is_nobodys(session: Session, layout: Layout) -> None:
    zk = session()
    answers = LogAnswers(zk, layout, lambda: GUIDS[0], lambda: b"x\n")
    answers.step()
    zk.create(layout.log_request_prefix, b"{", ephemeral=True, sequential=True)
    zk.create(layout.log_request_prefix, b'{"v": 99}', ephemeral=True, sequential=True)
    answers.step()
    assert zk.children(layout.log_parts) == []
    assert collecting(zk, layout, answers).collect(GUIDS[:1], "me", 1.0) == {GUIDS[0]: "x\n"}


def test_processes_of_all_kinds(session: Session, layout: Layout) -> None:
    zk = session()
    assert processes(zk, layout) == []
    core = MachineRecord(host="a", pid=1, process=GUIDS[0], started_ms=0, time_ms=0)
    Machines(zk, layout).publish("a b", core)
    server = ServerRecord(host="s", pid=2, address="http://127.0.0.1:1", since_ms=0)
    monitor = MonitorRecord(host="m", pid=3, address="http://127.0.0.1:2", since_ms=0, login=True)
    zk.create(layout.server_prefix("s", GUIDS[1]), dump(server), ephemeral=True, sequential=True, parents=True)
    zk.create(layout.monitor_prefix("m", GUIDS[2]), dump(monitor), ephemeral=True, sequential=True, parents=True)
    zk.create(f"{layout.monitors}/junk", b"", ephemeral=True)
    zk.create(layout.monitor_prefix("n", GUIDS[3]), b"{", ephemeral=True, sequential=True)
    zk.create(layout.machine("broken"), b"{", ephemeral=True)
    assert processes(zk, layout) == [
        Process("core", "a b", 1, GUIDS[0]),
        Process("core", "broken", 0, ""),
        Process("monitor", "m", 3, GUIDS[2], "http://127.0.0.1:2"),
        Process("server", "s", 2, GUIDS[1], "http://127.0.0.1:1"),
    ]
