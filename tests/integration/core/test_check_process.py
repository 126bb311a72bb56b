"""The process that checks a task for its Core."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from core.launcher import Launcher
from dev.servers.ports import free_port
from replicator.model.finding import worst
from replicator.model.position import Position

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
