"""Looks at the columns of tables that rows are written to, no more often than they may."""

from __future__ import annotations

from typing import Any, cast

import pytest

from replicator.errors import SinkError
from replicator.mysql.session import Session
from replicator.sink.mysql.altered_tables import AlteredTables, Seen

TABLE = Seen("shop", "t", "source.t", ("id", "a"))


class Server:
    """Answers with the columns, after some seconds."""

    def __init__(self) -> None:
        self.columns = ["id", "a"]
        self.now, self.takes, self.asked = 0.0, 0.0, 0

    def rows(self, sql: str, values: tuple[str, str]) -> list[tuple[Any, ...]]:
        assert values == ("shop", "t")
        self.asked += 1
        self.now += self.takes
        return [(name,) for name in self.columns]


def looking(server: Server) -> AlteredTables:
    return AlteredTables(cast(Session, server), lambda: server.now)


def test_once_a_second_and_only_where_rows_were_written() -> None:
    server = Server()
    tables = looking(server)
    tables.used(TABLE)
    tables.look()
    assert server.asked == 0
    server.now = 1
    tables.look()
    tables.look(now=True)
    assert server.asked == 1
    tables.used(TABLE)
    tables.look()
    assert server.asked == 1
    tables.look(now=True)
    assert server.asked == 2


def test_many_tables_do_not_take_all_the_time() -> None:
    server = Server()
    tables = looking(server)
    server.now, server.takes = 1, 0.5
    tables.used(TABLE)
    tables.look()
    tables.used(TABLE)
    server.now += 9
    tables.look()
    assert server.asked == 1
    server.now += 1
    tables.look()
    assert server.asked == 2


@pytest.mark.parametrize("columns", [["a", "id"], ["id", "b"], ["id"], [], ["id", "new", "a"]])
def test_other_columns(columns: list[str]) -> None:
    server = Server()
    tables = looking(server)
    server.columns = columns
    tables.used(TABLE)
    with pytest.raises(SinkError) as raised:
        tables.look(now=True)
    assert raised.value.code == "E3428" and raised.value.table == "source.t"


def test_columns_behind_the_last_one() -> None:
    server = Server()
    tables = looking(server)
    server.columns = ["id", "a", "new"]
    tables.used(TABLE)
    tables.look(now=True)
