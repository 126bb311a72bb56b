"""Which servers are read, and with which settings."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.config.task import MySQLSource as Config
from replicator.errors import SourceError
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server
from replicator.source.mysql import preflight
from replicator.source.mysql.checks import variables

ROWS = {"log_bin": "ON", "binlog_format": "ROW"}


def server(version: str, **variables: str) -> Server:
    mariadb = "MariaDB" in version
    numbers = tuple(map(int, version.split("-")[0].split(".")))
    return Server(mariadb, numbers, "u@%", {**ROWS, "version": version, **variables})


def config(found: Server, **changes: Any) -> Config:
    return Config.model_validate({"type": found.flavour, "user": "u", "password": "env:X"} | changes)


@pytest.mark.parametrize("version", ["5.5.9", "5.7.44", "9.7.4", "10.2.11-MariaDB", "11.8.3-MariaDB"])
def test_servers_without_names_in_the_binlog_are_read(version: str) -> None:
    found = server(version)
    preflight.check(found, config(found))
    assert "fail" not in {finding.severity for finding in variables.check(found, config(found))}


@pytest.mark.parametrize("version", ["5.1.73", "10.1.48-MariaDB", "5.5.68-MariaDB"])
def test_older_releases_are_refused(version: str) -> None:
    found = server(version)
    with pytest.raises(SourceError) as raised:
        preflight.check(found, config(found))
    assert raised.value.code == "E2204"
    assert version in str(raised.value.found)
    [finding] = [each for each in variables.check(found, config(found)) if each.severity == "fail"]
    assert finding.id == "source.version"


def test_images_that_are_not_whole_are_refused_where_the_server_can_log_whole_ones() -> None:
    found = server("5.6.14", binlog_row_image="MINIMAL")
    with pytest.raises(SourceError) as raised:
        preflight.check(found, config(found))
    assert raised.value.code == "E2203"
    preflight.check(found, config(found, row_image="accept_partial"))


@pytest.mark.parametrize(
    ("version", "statement"),
    [("5.7.44", "SET GLOBAL"), ("8.0.11", "SET PERSIST"), ("10.11.6-MariaDB", "SET GLOBAL")],
)
def test_remedies_are_statements_that_the_release_has(version: str, statement: str) -> None:
    assert set_global(server(version), "sync_binlog", "1").startswith(statement)
