"""That a certificate ends soon is said in time, and not too often."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from dev.servers.authority import Authority
from replicator.config.tls import Tls
from replicator.net.certificate_expiry import of_files
from replicator.net.tls import EARLY_DAYS, Reminder


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


def test_the_first_of_ours_and_the_last_of_the_authorities(tmp_path: Path) -> None:
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    certificate, key = old.leaf("127.0.0.1", timedelta(days=20))
    short, _ = old.leaf("127.0.0.2", timedelta(days=3))
    chain = tmp_path / "chain.pem"
    chain.write_bytes(certificate.read_bytes() + short.read_bytes())
    long, _ = new.leaf("127.0.0.3", timedelta(days=30))
    authorities = tmp_path / "authorities.pem"
    authorities.write_bytes(old.ca.read_bytes() + long.read_bytes())
    found = of_files(Tls(cert=str(chain), key=str(key), ca=str(authorities)))
    assert [(each.of, round(each.days)) for each in found] == [(str(chain), 3), (str(authorities), 30)]


def test_files_that_can_not_be_read_are_the_connections_matter(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("nothing")
    assert of_files(Tls(ca=str(tmp_path / "absent.pem"), cert=str(tmp_path / "no.pem"))) == []
    assert of_files(None) == []
