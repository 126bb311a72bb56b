"""What `check` reports about logins at servers that are not verified."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.config.task import MySQLSource
from replicator.source.mysql.checks.check import login


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, "until its restart"),
        ({"get_server_public_key": True}, "any key"),
        ({"server_public_key": "/etc/ssl/key.pem", "get_server_public_key": True}, ""),
        ({"server_public_key": "/etc/ssl/key.pem"}, ""),
        ({"tls": {"ca": "/etc/ssl/ca.pem"}}, ""),
        ({"tls": {"insecure": True}}, "until its restart"),
        ({"tls": {"insecure": True}, "server_public_key": "/etc/ssl/key.pem"}, "until its restart"),
        ({"tls": {"insecure": True}, "send_password_unverified": True}, "any server that answers"),
        ({"tls": {"insecure": True}, "type": "mariadb"}, ""),
        ({"tls": {"insecure": True}, "host": "127.0.0.1"}, ""),
        ({"host": "localhost"}, ""),
        ({"host": "127.0.0.1", "get_server_public_key": True}, ""),
        ({"type": "mariadb"}, ""),
    ],
)
def test_what_a_password_goes_out_under(more: dict[str, Any], found: str) -> None:
    config = {"type": "mysql", "host": "db.example", "port": 3306, "user": "bus", "password": "env:X", **more}
    findings = login(MySQLSource.model_validate(config))
    assert bool(findings) is bool(found)
    for finding in findings:
        assert finding.severity == "warn" and found in finding.found and finding.fix
