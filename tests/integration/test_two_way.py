"""Tasks in both directions between real servers, with writers on each of them: no echo, and equal rows at the end."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.servers import Database, MariaDB, MySQL
from dev.targets.two_way import Options, TwoWay
from replicator.model.bookkeeping import FIRST_MARK

pytestmark = [pytest.mark.servers, pytest.mark.timeout(240)]
Make = Callable[[str], Database]


@pytest.fixture
def make(
    mysql: MySQL, mariadb: MariaDB, make_mysql: Callable[..., MySQL], make_mariadb: Callable[..., MariaDB]
) -> Make:
    """The tests' own server of a kind first, then new ones."""
    first: dict[str, Database] = {"mysql": mysql, "mariadb": mariadb}

    def made(name: str) -> Database:
        return first.pop(name, None) or (make_mysql() if name == "mysql" else make_mariadb())

    return made


def run(servers: list[Database], folder: Path, **options: object) -> TwoWay:
    two = TwoWay(servers, f"w{uuid.uuid4().hex[:8]}", folder, Options(**options))  # type: ignore[arg-type]
    found = two.run()
    assert found.wrong == []
    assert found.transactions > 20
    return two


@pytest.mark.parametrize("names", ["mysql-mysql", "mariadb-mariadb", "mysql-mariadb"])
@pytest.mark.parametrize("shared", [False, True], ids=["own rows", "the same rows"])
def test_two_servers(make: Make, tmp_path: Path, names: str, shared: bool) -> None:
    run([make(name) for name in names.split("-")], tmp_path, seconds=6, shared=shared)


def test_two_servers_by_sql(make: Make, tmp_path: Path) -> None:
    run([make("mysql"), make("mariadb")], tmp_path, seconds=6, shared=True, apply="sql")


@pytest.mark.parametrize("apply", ["auto", "sql"])
def test_three_servers_with_a_task_from_each_to_each(make: Make, tmp_path: Path, apply: str) -> None:
    """Without changes of definitions: a row may arrive by one way before its column does by another (E3422)."""
    run([make("mysql"), make("mysql"), make("mariadb")], tmp_path, seconds=4, ddl=False, apply=apply)


def test_without_a_guard_changes_come_back(make: Make, tmp_path: Path) -> None:
    two = TwoWay(
        [make("mysql"), make("mysql")],
        f"w{uuid.uuid4().hex[:8]}",
        tmp_path,
        Options(seconds=10, restarts=False, ddl=False, guard="none"),
    )
    assert any("E3424" in line for line in two.run().wrong)


@pytest.mark.parametrize("name", ["mysql", "mariadb"])
def test_the_mark_of_statements_is_in_the_binlog(make: Make, name: str) -> None:
    """Also of DROP TABLE, which the servers write anew without its comments."""
    server, database = make(name), f"w{uuid.uuid4().hex[:8]}"
    server.execute(f"CREATE DATABASE {database}")
    file, offset = server.end_of_log()
    with server.connect(database=database) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET SESSION pseudo_thread_id = {FIRST_MARK + 5}")
        for statement in ("CREATE TABLE t (id INT)", "ALTER TABLE t ADD a INT", "DROP TABLE t"):
            cursor.execute(statement)
    data = (server.folder / "data" / file).read_bytes()[offset:]
    assert data.count((FIRST_MARK + 5).to_bytes(4, "little")) == 3
    server.execute(f"DROP DATABASE {database}")


def test_one_change_makes_one_transaction_on_the_other_side(make: Make, tmp_path: Path) -> None:
    servers = [make("mysql"), make("mysql")]
    two = TwoWay(servers, f"w{uuid.uuid4().hex[:8]}", tmp_path, Options(ddl=False))
    two.make()
    try:
        for task in two.tasks:
            task.start()
        servers[0].execute(f"INSERT INTO {two.database}.own VALUES (1, 0, 1, 'x')")
        assert two.differences() == []
        time.sleep(3)
        before = [two.sequences(server) for server in servers]
        servers[0].execute(f"INSERT INTO {two.database}.own VALUES (2, 0, 2, 'y')")
        assert two.differences() == []
        time.sleep(3)
        there, here = (
            sum(two.sequences(server).values()) - sum(known.values())
            for server, known in zip(reversed(servers), reversed(before), strict=True)
        )
        assert there == 1
        assert here <= 1, "the position, without rows"
    finally:
        for task in two.tasks:
            task.stop()
