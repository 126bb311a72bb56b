"""`replicator verify` for topics: options that do not apply, what a Server knows of the task."""

from __future__ import annotations

from typing import Any, cast

import pytest

from replicator.cli.task.client import Client
from replicator.cli.verify_report import Reporter
from replicator.cli.verify_topics import refuse_options
from replicator.errors import ProcessError
from replicator.model.position import Position


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"repair": True}, "E5045", "replicator task snapshot start copy --table"),
        ({"checksums": True}, "E5032", "--checksums server"),
    ],
)
def test_options_that_do_not_apply(given: dict[str, bool], code: str, words: str) -> None:
    with pytest.raises(ProcessError) as raised:
        refuse_options("copy", **{"repair": False, "checksums": False, **given})
    assert raised.value.code == code and words in raised.value.fix


class _Client:
    def __init__(self, **task: Any) -> None:
        self._task: dict[str, Any] = {
            "uid": "u",
            "position": "log.7:120",
            "gtid": "a:1-5",
            "snapshot": None,
            "snapshot_requests": [],
        }
        self._task |= task

    def task(self, name: str) -> dict[str, Any]:
        return self._task


def progress(**task: Any) -> tuple[Position | None, bool]:
    return Reporter(cast(Client, _Client(**task)), "copy", "u", 1, whole=True).progress()


def test_progress() -> None:
    assert progress() == (Position("log.7", 120, "a:1-5"), False)
    assert progress(position="log.7:120+3", gtid=None) == (Position("log.7", 120), False)
    assert progress(position="", gtid="") == progress(position=None) == (None, False)
    assert progress(snapshot={"ended_ms": 0})[1] and not progress(snapshot={"ended_ms": 5})[1]
    assert progress(snapshot_requests=[{}])[1]
    with pytest.raises(ProcessError) as raised:
        progress(uid="another")
    assert raised.value.code == "E5040"
