"""Requests that are refused before the API sees them are in the audit, in both places, and can't fill it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from replicator.coordination.access.audit import AuditLog
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.telemetry.connection import Times
from replicator.telemetry.listen import Limits
from server.audit import Audit
from server.audit_file import AuditFile
from server.background_work import BackgroundWork
from server.task_operations import TaskOperations
from tests.security.test_http_shapes import HOST, App, connected, everything, exchange
from tests.support.api import serving

BAD_LOGIN = b"GET /refused HTTP/1.1\r\n" + HOST + b"Authorization: Bearer x\r\nConnection: close\r\n\r\n"


class Audited:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "audit.log"
        self.log = AuditLog(MemoryEnsemble().session(), Layout())
        self.audit = Audit(self.log, "server-a", AuditFile(self.path))

    def found(self) -> list[tuple[int, str, int]]:
        """Status, code and number of requests of each entry; the same in both places."""
        self.audit.note_refusals()
        entries = self.log.read(1000, lambda _: True)
        assert [json.loads(line)["time_ms"] for line in self.path.read_text().splitlines()] == [
            entry.time_ms for entry in entries
        ]
        assert {entry.outcome for entry in entries} <= {"refused"}
        return sorted((entry.status, entry.code, entry.suppressed + 1) for entry in entries)


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    return Audited(tmp_path)


@pytest.fixture
def url(audited: Audited) -> Iterator[str]:
    limits = Limits(connections=8, connections_per_address=8)
    with serving(App(), limits=limits, free_logins=2, refused=audited.audit.refusals.note) as served:
        yield served


def test_each_kind_is_noted(audited: Audited, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange(url, b"GET / HTTP/9\r\n" + HOST + b"\r\n")
    exchange(url, b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 33_000 + b"\r\n")
    exchange(url, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    exchange(url, b"POST / HTTP/1.1\r\n" + HOST + b"Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n")
    for _ in range(4):  # two that may fail, and two that have to wait
        exchange(url, BAD_LOGIN)
    monkeypatch.setattr(Times, "HEAD", 0.2)
    with connected(url) as slow:
        slow.sendall(b"GET /")
        everything(slow)
    monkeypatch.undo()
    held = [connected(url) for _ in range(8)]
    for each in held:
        each.sendall(b"GET /")  # none of them is idle
    with connected(url) as surplus:
        everything(surplus)
    for each in held:
        each.close()
    assert audited.found() == [
        (400, "E5082", 1),
        (403, "E5020", 1),
        (408, "E5083", 1),
        (421, "E5020", 1),
        (429, "E5085", 2),
        (431, "E5082", 1),
        (503, "E5084", 1),
    ]
    assert {(entry.address, entry.server) for entry in audited.log.read(9, lambda _: True)} == {
        ("127.0.0.1", "server-a")
    }


def test_what_reaches_the_application_is_not_noted_here(audited: Audited, url: str) -> None:
    exchange(url, b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    exchange(url, BAD_LOGIN)
    assert audited.found() == []


def test_a_flood_does_not_fill_the_audit(audited: Audited) -> None:
    for number in range(20_000):
        audited.audit.refusals.note(f"10.{number % 200}.{number % 7}.1", 400, "E5082")
    for _ in range(5):
        found = audited.found()
    assert 0 < len(found) <= 25


def test_the_background_work_writes_them(audited: Audited) -> None:
    class Member:
        is_master = False

        def keep(self) -> None: ...

    audited.audit.refusals.note("10.0.0.7", 431, "E5082")
    operations = TaskOperations(MemoryEnsemble().session(), Layout())
    BackgroundWork(operations, Member(), audited.audit).run_once()  # type: ignore[arg-type]
    assert audited.found() == [(431, "E5082", 1)]
