"""The log lines that a process keeps: bounded, and without secrets."""

from __future__ import annotations

import logging

import pytest

from replicator.telemetry import log
from replicator.telemetry.recent_lines import MOST_OF_LINE, RecentLines

SECRET = "hunter2-MARKER"


def test_the_oldest_are_dropped() -> None:
    kept = RecentLines(most_lines=3, most_bytes=20)
    for line in ("one", "two", "three", "four"):
        kept.add(line)
    assert kept.text() == b"two\nthree\nfour\n"
    kept.add("x" * 15)
    assert kept.text() == b"x" * 15 + b"\n", "20 bytes"
    kept.add("x" * 30)
    assert kept.text() == b"", "a line that is larger than all"
    kept.add("ü")
    kept.clear()
    assert kept.text() == b""


def test_a_long_line_is_cut_and_no_surrogate_breaks_it() -> None:
    kept = RecentLines()
    kept.add("x" * 10 * MOST_OF_LINE)
    kept.add("\udcff")
    assert len(kept.text()) == MOST_OF_LINE + 3


def test_secrets_and_colours_are_not_kept() -> None:
    kept = RecentLines()
    kept.add(f"\x1b[2mlogin\x1b[0m \x1b[36mpassword\x1b[0m=\x1b[35m{SECRET}\x1b[0m")
    kept.add(f"mysql://root:{SECRET}@db")
    kept.add("x" * (2 * MOST_OF_LINE - 10) + f" password={SECRET}")
    assert SECRET.encode() not in kept.text() and b"login password=***" in kept.text() and b"\x1b" not in kept.text()


def test_a_worker_forwards_its_lines_and_keeps_none() -> None:
    kept, sent = RecentLines(), list[str]()
    kept.forward = sent.append
    kept.add(f"password={SECRET}")
    assert sent == ["password=***"] and kept.text() == b""


def test_lines_of_the_log_and_of_libraries_are_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "recent", RecentLines())
    log.setup("json")
    log.setup("json")
    log.get_logger("test").info("begun", found=f"password={SECRET}", ü="ü")
    logging.getLogger("library").warning("token: %s", SECRET)
    lines = log.recent.text().decode().splitlines()
    assert len(lines) == 2, lines
    assert '"event": "begun"' in lines[0] and lines[1] == "WARNING library token: ***"
    assert SECRET not in "".join(lines)
