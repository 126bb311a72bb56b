"""What people may mistype in commands of locks, barriers, queues and ids: refused before ZooKeeper is asked."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from replicator.cli.durations import Wait
from replicator.cli.main import main
from replicator.errors import ReplicatorError

ZK = ["--zookeeper", "127.0.0.1:1"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30.0), ("0", 0.0), ("1.5", 1.5), ("2m", 120.0), (" 1h ", 3600.0)]
)
def test_waits(text: str, seconds: float) -> None:
    assert Wait().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "-1", "abc", "1x", "1e9", "nan", "9" * 20])
def test_what_is_no_wait(text: str) -> None:
    with pytest.raises(click.BadParameter, match="30s"):
        Wait().convert(text, None, None)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["lock", "run", "x", *ZK], "Missing parameter: arguments"),
        (["lock", "run", "x", *ZK, "--", "no-such-program"], "E5142"),
        (["lock", "run", "", *ZK, "--", "true"], "E5140"),
        (["lock", "run", "x", *ZK, "--wait", "soon", "--", "true"], "30s"),
        (["lock", "list"], "Did you mean 'ls'?"),
        (["barrier", "wait", "x", *ZK], "Missing parameter: parties"),
        (["barrier", "wait", "x", *ZK, "--parties", "0"], "0 is not in the range"),
        (["queue", "pop", "x"], "Did you mean 'take'?"),
        (["queue", "take", "x", *ZK, "--", "no-such-program"], "E5142"),
        (["id", "next", "x", *ZK, "--count", "0"], "0 is not in the range"),
    ],
)
def test_refused(arguments: list[str], wanted: str) -> None:
    result = CliRunner().invoke(main, arguments, standalone_mode=False)
    assert wanted in str(result.exception), result.output
    assert isinstance(result.exception, click.ClickException | ReplicatorError)
