"""The process that checks a task for its Core."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator

import pytest

from core.launcher import Launcher, VerificationProcess
from dev.servers.ports import free_port
from replicator.model.finding import worst
from replicator.model.nightly import Outcome
from replicator.model.position import Position
from replicator.net import connections
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    made = Launcher()
    made.warm()
    yield made
    made.close()


def config(port: int, **more: object) -> dict[str, object]:
    source = {
        "type": "mysql",
        "host": "127.0.0.1",
        "port": port,
        "user": "x",
        "password": "env:PATH",
    }  # which the template has
    return {"name": "copy", "source": {**source, **more}, "sink": {"type": "stdout"}}


def test_what_is_wrong_is_a_list_of_findings(launcher: Launcher) -> None:
    found = launcher.check(config(free_port()), "installation", Position("binlog.000001", 4))
    assert found is not None and worst(found) == "fail"
    shown = {finding.id: finding for finding in found}
    assert shown["source.reachable"].severity == "fail" and shown["decoder"].severity == "ok"
    assert os.environ["PATH"] not in str(found)


def test_a_configuration_that_is_not_understood_is_a_finding(launcher: Launcher) -> None:
    found = launcher.check(config(3306, no_such_key=1), "installation", None)
    assert found is not None
    assert [(one.id, one.severity) for one in found] == [("check.finished", "fail")] and "E1002" in found[0].found


def ended(process: VerificationProcess, position: Position | None = None) -> Outcome:
    return eventually(lambda: process.poll(position), 30)


def target(port: int) -> dict[str, object]:
    sink = {"type": "mysql", "host": "127.0.0.1", "port": port, "user": "x", "password": "env:PATH"}
    return {**config(port), "sink": sink}


def test_a_verification_without_a_server_says_why(launcher: Launcher) -> None:
    process = launcher.verify(target(free_port()), "installation", "uid", {})
    found = ended(process)
    assert found.stage == "failed" and found.note.startswith("E2") and not found.tables and not found.whole


def test_a_verification_ends_with_its_process_and_other_outgoing_addresses(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = socket.create_server(("127.0.0.1", 0))  # accepts, and says nothing
    with listening:
        silent = target(listening.getsockname()[1])
        first = launcher.verify(silent, "installation", "uid", {})
        assert first.poll(None) is None
        os.kill(first.pid, signal.SIGKILL)
        found = ended(first)
        assert found.stage == "failed" and "its process ended" in found.note

        second = launcher.verify(silent, "installation", "uid", {})
        assert second.poll(None) is None
        monkeypatch.setattr(connections, "cluster_list", lambda: ("192.0.2.0/24",))
        found = ended(second)
        assert found.stage == "interrupted" and "outgoing" in found.note
        with pytest.raises(ProcessLookupError):
            os.kill(second.pid, 0)
