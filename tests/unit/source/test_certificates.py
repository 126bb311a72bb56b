"""That a certificate ends soon is said in time, and not too often."""

from __future__ import annotations

import logging

import pytest

from replicator.source.mysql.tls import EARLY_DAYS, Reminder


def test_a_certificate_that_ends_soon_is_told_of_once_a_day_and_server(caplog: pytest.LogCaptureFixture) -> None:
    reminder = Reminder()
    with caplog.at_level(logging.WARNING):
        for where, days in (("a:1", None), ("a:1", EARLY_DAYS + 0.5), ("a:1", 13.9), ("a:1", 13.8), ("b:1", -1.0)):
            reminder.look(where, days)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the certificate of a",
        "the certificate of b",
    ]
    assert "13.9 days" in caplog.text
