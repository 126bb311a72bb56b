"""Global variables of the target with which rows would silently differ from those of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dev.servers import Database, MariaDB, MySQL
from replicator.errors import SinkError
from replicator.mysql import table_facts
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.sink.mysql.checks.settings import strictness
from replicator.sink.mysql.filling import check_empty
from tests.support import target
from tests.support.site_pair import Pair


@pytest.fixture
def lenient(mariadb: Database) -> Iterator[Callable[[str, str], None]]:
    changed: dict[str, str] = {}

    def set_(name: str, value: str) -> None:
        changed[name] = str(mariadb.execute(f"SELECT @@GLOBAL.{name}")[0][0])
        mariadb.execute(f"SET GLOBAL {name} = '{value}'")

    yield set_
    for name, value in changed.items():
        mariadb.execute(f"SET GLOBAL {name} = '{value}'")


@pytest.mark.parametrize(("name", "value"), [("slave_exec_mode", "IDEMPOTENT"), ("slave_run_triggers_for_rbr", "YES")])
def test_a_server_that_would_not_apply_rows_strictly(
    mariadb: Database, lenient: Callable[[str, str], None], name: str, value: str
) -> None:
    pair = Pair(mariadb, mariadb, "here", "there", "place")
    lenient(name, value)
    with pytest.raises(SinkError) as refused:
        pair.opened()
    assert refused.value.code == "E3413" and f"{name} = {value}" in refused.value.found
    assert f"SET GLOBAL {name}" in refused.value.fix
    with Session(target.config(mariadb, "place"), "") as session:
        assert [(found.severity, found.id) for found in strictness(read_server(session))] == [("fail", "sink.strict")]


def test_mysql_that_skips_errors(make_mysql: Callable[..., MySQL]) -> None:
    server = make_mysql(extra_args=["--replica-skip-errors=1032,1062"])
    with pytest.raises(SinkError, match="E3413"):
        Pair(server, server, "here", "there", "place").opened()


def test_a_server_that_folds_names(make_mariadb: Callable[..., MariaDB]) -> None:
    """What the source calls Shop.Item is there, and has rows."""
    server = make_mariadb(extra_args=["--lower-case-table-names=1"])
    server.execute("CREATE DATABASE Shop")
    server.execute("CREATE TABLE Shop.Item (Id INT PRIMARY KEY)")
    server.execute("INSERT INTO Shop.Item VALUES (1)")
    with Session(target.config(server, "place"), "") as session:
        with pytest.raises(SinkError, match="E3460"):
            check_empty(session, [("Shop", "Item")])
        facts = table_facts.read(session, [("Shop", "Item")])
        assert facts["Shop", "Item"].primary_key == ("id",)
