"""LOAD DATA LOCAL: when it is used, its statements and its rows."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.mysql_sink import MySQLSink
from replicator.model import types
from replicator.mysql.server import Server
from replicator.mysql.statement_text import loads_of
from replicator.mysql.table_shape import BINARY, ColumnShape
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.row_runs import Run
from replicator.sink.mysql.sql import load_data, load_mode
from replicator.sink.mysql.sql.load_data import LoadedTable, loaded
from replicator.sink.mysql.sql.load_mode import Loads

ON = {"local_infile": "ON", "log_bin": "ON", "binlog_format": "ROW"}


def obstacle(more: dict[str, str], *, mariadb: bool = False, **options: Any) -> load_mode.Obstacle | None:
    given_ = {"host": "h", "port": 1, "user": "u", "password": "env:P", **options}
    config = MySQLSink(type="mariadb" if mariadb else "mysql", **given_)
    return load_mode.obstacle(config, Server(mariadb=mariadb, version=(10, 11), account="u@h", variables=ON | more))


def test_servers_that_take_it() -> None:
    assert obstacle({}) is None
    assert obstacle({"log_bin": "OFF", "binlog_format": "STATEMENT"}) is None
    assert obstacle({"wsrep_load_data_splitting": "OFF"}, mariadb=True) is None


@pytest.mark.parametrize(
    ("more", "fix"),
    [
        ({"local_infile": "OFF"}, "local_infile"),
        ({"binlog_format": "STATEMENT"}, "binlog_format"),
        ({"binlog_format": "MIXED"}, "binlog_format"),
        ({"wsrep_load_data_splitting": "ON"}, "wsrep_load_data_splitting"),
        ({"max_allowed_packet": "16384"}, "max_allowed_packet"),
    ],
)
def test_servers_that_do_not(more: dict[str, str], fix: str) -> None:
    """A cluster that splits it would commit a part of the transaction; with statements in the binlog, replicas would
    load the rows, without what makes LOAD DATA exact here."""
    found = obstacle(more, mariadb=True)
    assert found is not None
    assert fix in found.found and f"SET GLOBAL {fix}" in found.fix
    assert fix in load_mode.description(found)


def test_the_configuration_can_refuse_it() -> None:
    found = obstacle({}, load_data=False)
    assert found == load_mode.Obstacle("sink.load_data = false")


def test_a_table_that_was_refused() -> None:
    loads = Loads()
    assert not loads.uses("a.t")
    loads.begin(allowed=True)
    assert loads.uses("a.t") and loads.uses("a.u")
    loads.refuse(["a.t"], "here", "a warning")
    assert not loads.uses("a.t") and loads.uses("a.u")
    loads.begin(allowed=True)
    assert loads.uses("a.t")
    loads.begin(allowed=False)
    assert not loads.uses("a.t")


def test_connections_that_are_lost_each_time(caplog: pytest.LogCaptureFixture) -> None:
    """A proxy that ends connections at LOAD DATA must not stop the task for ever."""
    loads = Loads()
    for lost in (2, 3):
        for _ in range(lost):
            loads.begin(allowed=True)
            assert loads.uses("a.t")
            loads.lost("here")
        if lost == 2:
            loads.taken()
    assert caplog.text.count("written by INSERT until the task restarts") == 1
    loads.begin(allowed=True)
    assert not loads.uses("a.t")


def column(kind: int, meta: int = 0, **more: object) -> ColumnShape:
    return ColumnShape("c", kind, meta, nullable=True, expression="", **{"charset": "utf8mb4", **more})  # type: ignore[arg-type]


def table(*columns: ColumnShape, sizes: tuple[int, ...], written: tuple[int, ...] = ()) -> LoadedTable:
    names = tuple(b"`c%d`" % index for index in range(len(columns)))
    return loaded(b"`a`.`t`", Layout(sizes, ()), columns, names, written or tuple(range(len(columns))))


def rows(made: LoadedTable, images: bytes, count: int) -> bytes:
    load, *_ = load_data.statements(made, Run("t", b"I", count, images))
    (pieces,) = loads_of(load)
    return b"".join(pieces())


def test_statements() -> None:
    """Generated columns are left out; a text for an ENUM would be a name; bytes are no JSON."""
    kinds = (types.LONG, types.ENUM, types.LONG, types.JSON)
    made = table(*(column(kind, 4) for kind in kinds), sizes=(4, 1, 4, -4), written=(0, 1, 3))
    load, counted, guard = load_data.statements(made, Run("t", b"I", 2, b""))
    assert not isinstance(load, bytes)
    statement = b"".join(load.pieces())
    assert statement.startswith(b"LOAD DATA LOCAL INFILE 'replicator' INTO TABLE `a`.`t` CHARACTER SET binary ")
    assert statement.endswith(
        b"(`c0`,@replicator_1,@replicator_2) SET `c1`=CAST(@replicator_1 AS UNSIGNED),"
        b"`c3`=CONVERT(@replicator_2 USING utf8mb4)"
    )
    assert counted == b"SET @replicator_warnings = @@warning_count, @replicator_rows = ROW_COUNT()"
    assert b"@replicator_warnings = 0 AND @replicator_rows = 2, 1, (SELECT 1 UNION ALL SELECT 2)" in bytes(guard)  # type: ignore[arg-type]


texts = st.binary(max_size=40) | st.lists(st.sampled_from(b"\\\t\nN0ntbrZ"), max_size=20).map(bytes)
ESCAPES = {b"t": b"\t", b"n": b"\n", b"\\": b"\\"}


def read(data: bytes) -> list[list[bytes | None]]:
    """As LOAD DATA does. Fails for an escape that is not one of ours."""
    assert data.endswith(b"\n") or not data
    found = []
    for line in data.split(b"\n")[:-1]:
        fields = line.split(b"\t")
        found.append(
            [
                None if field == b"\\N" else re.sub(rb"\\(.)", lambda hit: ESCAPES[hit[1]], field, flags=re.DOTALL)
                for field in fields
            ]
        )
    return found


@given(st.lists(st.tuples(st.none() | texts, st.integers(-(2**31), 2**31 - 1), st.none() | texts), max_size=8))
def test_rows_are_read_as_they_were_written(given_: list[tuple[bytes | None, int, bytes | None]]) -> None:
    made = table(
        column(types.VARCHAR, 99), column(types.LONG), column(types.BLOB, 2, collation=BINARY), sizes=(-1, 4, -2)
    )
    images = b""
    for text, number, raw in given_:
        images += bytes(((text is None) | (raw is None) << 2,))
        images += b"" if text is None else bytes((len(text),)) + text
        images += struct.pack("<i", number)
        images += b"" if raw is None else struct.pack("<H", len(raw)) + raw
    wanted = [[text, b"%d" % number, raw] for text, number, raw in given_]
    assert read(rows(made, images, len(given_))) == wanted


def test_fields() -> None:
    """0 would be the year 2000; BINARY gets its zeros again; bits are a number."""
    kinds = (
        column(types.YEAR), column(types.STRING, 4, collation=BINARY), column(types.BIT, 1 << 8 | 4),
        column(types.DATETIME2, 0), column(types.DOUBLE, 8),
    )  # fmt: skip
    made = table(*kinds, sizes=(1, -1, 2, 5, 8))
    image = b"\0" + b"\0" + b"\2a\n" + b"\1\t" + bytes.fromhex("99b2c20000") + struct.pack("<d", 1.5)
    assert rows(made, image, 1) == b"0000\ta\\n\0\0\t265\t2024-03-01 00:00:00.000000\t1.5e0\n"


def test_rows_end_in_front_of_a_value_that_has_no_field() -> None:
    """At the latest: so that the server counts less than wanted."""
    made = table(column(types.LONG), column(types.DOUBLE, 8), sizes=(4, 8))
    good, bad = (b"\0" + struct.pack("<id", 1, number) for number in (1.5, float("nan")))
    for images in (good + bad + good, good + good[:-1]):
        assert rows(made, images, 2).count(b"\n") < 2


def test_many_rows_are_several_pieces() -> None:
    made = table(column(types.BLOB, 2, collation=BINARY), sizes=(-2,))
    image = b"\0" + struct.pack("<H", 50_000) + bytes(50_000)
    load, *_ = load_data.statements(made, Run("t", b"I", 20, image * 20))
    (pieces,) = loads_of(load)
    assert len(list(pieces())) > 2
    assert b"".join(pieces()) == (bytes(50_000) + b"\n") * 20
