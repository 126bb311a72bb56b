"""Logs go to stderr, whenever their logger was made."""

from __future__ import annotations

import json

import pytest
import structlog

from replicator.telemetry import log


def test_a_logger_made_before_the_set_up_follows_it(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.reset_defaults()
    early = log.get_logger("server")
    log.setup("json")
    early.warning("something", code="E4001")
    structlog.reset_defaults()
    shown = capsys.readouterr()
    assert shown.out == ""
    record = json.loads(shown.err)
    assert (record["event"], record["code"], record["component"]) == ("something", "E4001", "server")
