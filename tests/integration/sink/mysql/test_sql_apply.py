"""Rows written by SQL, for accounts that may not execute BINLOG: exact values, privileges, tables that are refused."""

from __future__ import annotations

import logging
import struct
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from replicator.errors import SinkError
from replicator.mysql import multi_statements
from replicator.mysql import statement_text as text
from replicator.mysql.row_images.decimals import pack
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.sink.mysql import target_definition
from replicator.sink.mysql.row_runs import Run, split
from replicator.sink.mysql.sql import load_data, sql_table
from replicator.sink.mysql.sql.grants import TriggerGrants
from replicator.sink.mysql.sql.json_literals import text_of
from replicator.sink.mysql.sql.statements import MODE, statements
from tests.support import target
from tests.support.json_documents import documents
from tests.support.row_records import Reader, joined
from tests.support.settings import set_global
from tests.support.site_pair import Pair, deliver

REMEDY = {"mysql": "GRANT REPLICATION_APPLIER ON", "mariadb": "GRANT BINLOG REPLAY ON"}


def account(pair: Pair, *grants: str) -> dict[str, Any]:
    user = f"u_{pair.place}"[:30]
    for sql in (f"CREATE USER {user}@'%%' IDENTIFIED BY ''", f"GRANT ALL ON {pair.place}.* TO {user}@'%%'"):
        pair.target.execute(sql)
    for grant in grants:
        pair.target.execute(f"GRANT {grant} ON {pair.there}.* TO {user}@'%%'")
    return {"user": user}


def test_an_account_without_the_privilege(same: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """Chosen and said; triggers of the tables have to be visible."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    given = account(same, "SELECT, INSERT, UPDATE, DELETE")
    batches = same.at_source("INSERT INTO t VALUES (1, 1), (2, 2)", "UPDATE t SET v = 3", "DELETE FROM t WHERE id = 1")
    sink = same.sink(**given)
    with caplog.at_level(logging.WARNING):
        sink.open(target.term())
    assert REMEDY[same.target.release.flavour] in caplog.text
    with pytest.raises(SinkError, match=r"E3427.*lacks TRIGGER.*GRANT TRIGGER ON") as raised:
        deliver(sink, batches)
    same.target.execute(raised.value.fix.partition(";")[0].replace("127.0.0.1", "%%"))
    sink.open(target.term())
    deliver(sink, batches)
    assert same.rows("t")[1] == [(2, 3)]
    same.target.execute(f"DROP USER {given['user']}@'%%'")


@pytest.mark.parametrize(
    ("columns", "then", "found"),
    [
        ("(id INT, v INT)", "", "no key"),
        ("(id FLOAT PRIMARY KEY, v INT)", "", "no key"),
        ("(id INT PRIMARY KEY, v INT)", "CREATE TRIGGER {}.fires AFTER INSERT ON t FOR EACH ROW SET @x = 1", "fires"),
    ],
)
def test_tables_that_are_refused(same: Pair, columns: str, then: str, found: str) -> None:
    same.both(f"CREATE TABLE t {columns}")
    if then:
        same.at_target(then.format(same.there))
    (batch,) = same.at_source("INSERT INTO t VALUES (1, 1)")
    with pytest.raises(SinkError, match=f"E3427.*{found}") as raised:
        deliver(same.opened(apply="sql"), [batch])
    assert REMEDY[same.target.release.flavour] in raised.value.fix
    assert same.rows("t")[1] == []


def test_columns_of_the_target_alone(same: Pair) -> None:
    """They keep their values, also where an UPDATE would set the time; generated columns are computed."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT, g INT AS (v + 1) STORED)")
    same.at_target(
        "ALTER TABLE t ADD at DATETIME DEFAULT '2001-01-01' ON UPDATE CURRENT_TIMESTAMP, ADD w INT DEFAULT 7"
    )
    sink = same.opened(apply="sql")
    deliver(sink, same.at_source("INSERT INTO t (id, v) VALUES (1, 1), (2, 2)", "UPDATE t SET v = 5 WHERE id = 1"))
    batches = same.at_source("UPDATE t SET v = v + 1", "UPDATE t SET v = v + 1")
    sink.write(joined(batches))
    sink.commit(batches[-1].position)
    assert [(*row[:3], str(row[3]), row[4]) for row in same.rows("t")[1]] == [
        (1, 7, 8, "2001-01-01 00:00:00", 7),
        (2, 4, 5, "2001-01-01 00:00:00", 7),
    ]


def test_unique_key_as_the_key(same: Pair) -> None:
    same.both("CREATE TABLE t (id INT NOT NULL UNIQUE, v VARCHAR(9))")
    batches = same.at_source(
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)",
        "UPDATE t SET v = 'c' WHERE id < 3",
        "UPDATE t SET id = 9 WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
    )
    deliver(same.opened(apply="sql"), batches)
    here, there = same.rows("t")
    assert here == there


def test_names_of_a_key_with_any_character(same: Pair) -> None:
    same.both("CREATE TABLE t (`a\n``b` INT, `c, 'd'` VARCHAR(9), v INT, PRIMARY KEY (`a\n``b`, `c, 'd'`))")
    sink = same.opened(apply="sql")
    deliver(sink, same.at_source("INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2), (3, 'z', 3)"))
    deliver(sink, same.at_source("UPDATE t SET v = v + 1", "DELETE FROM t WHERE v < 4"))
    assert same.rows("t", "v")[1] == [(3, "z", 4)]


COLUMNS = (
    "ti TINYINT, su SMALLINT UNSIGNED, me MEDIUMINT, bi BIGINT, bu BIGINT UNSIGNED, fl FLOAT, do DOUBLE, "
    "de DECIMAL(38,9), bt BIT(13), ye YEAR, da DATE, dt DATETIME(6), ts TIMESTAMP(3) NULL, tm TIME(6), "
    "en ENUM('a','b','ü'), se SET('x','y','z'), vc VARCHAR(40) CHARACTER SET utf8mb4, la VARCHAR(20) CHARACTER SET "
    "latin1, uc VARCHAR(10) CHARACTER SET ucs2, vb VARBINARY(30), bb BINARY(8), bl MEDIUMBLOB, po POINT"
)


def _number(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


def _finite(form: str) -> st.SearchStrategy[bytes]:
    """Without -0, which MariaDB does not store."""
    width: Literal[32, 64] = 32 if form == "<f" else 64
    floats = st.floats(allow_nan=False, allow_infinity=False, width=width).map(lambda value: value or 0.0)
    return floats.map(lambda value: struct.pack(form, value))


def _behind(values: st.SearchStrategy[bytes], size: int = 1) -> st.SearchStrategy[bytes]:
    return values.map(lambda value: len(value).to_bytes(size, "little") + value)


_micro = st.integers(0, 999_999)
_day = st.builds(lambda y, m, d: (y, m, d), st.integers(1, 9999), st.integers(1, 12), st.integers(1, 31))
_clock = st.builds(lambda h, m, s: h << 12 | m << 6 | s, st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))


def _date(day: tuple[int, int, int]) -> bytes:
    return (day[0] << 9 | day[1] << 5 | day[2]).to_bytes(3, "little")


def _datetime(day: tuple[int, int, int], clock: int, micro: int) -> bytes:
    packed = ((day[0] * 13 + day[1]) << 5 | day[2]) << 17 | clock
    return (packed + 0x8000000000).to_bytes(5, "big") + micro.to_bytes(3, "big")


def _time(hours: int, rest: int, micro: int, negative: bool) -> bytes:
    number = (hours << 12 | rest) << 24 | micro
    return ((0x800000 << 24) + (-number if negative else number)).to_bytes(6, "big")


VALUES: list[st.SearchStrategy[bytes]] = [
    _number(1), _number(2), _number(3), _number(8), _number(8), _finite("<f"), _finite("<d"),
    st.decimals(-(10**29), 10**29, places=9).map(lambda value: pack(f"{value:.9f}".encode(), 38, 9)),
    st.integers(0, (1 << 13) - 1).map(lambda value: value.to_bytes(2, "big")),
    _number(1),
    st.one_of(_day.map(_date), st.just(bytes(3))),
    st.builds(_datetime, _day, _clock, _micro),
    st.builds(lambda s, ms: s.to_bytes(4, "big") + (ms * 10).to_bytes(2, "big"), st.integers(1, 2**31 - 1),
              st.integers(0, 999)),
    st.builds(_time, st.integers(0, 837), st.integers(0, 59).map(lambda m: m << 6 | m), _micro, st.booleans()),
    st.integers(0, 3).map(lambda value: bytes((value,))),
    st.integers(0, 7).map(lambda value: bytes((value,))),
    _behind(st.text(st.characters(codec="utf-8"), max_size=40).map(str.encode)),
    _behind(st.binary(max_size=20)),
    _behind(st.text(st.characters(max_codepoint=0xD7FF), max_size=10).map(lambda text: text.encode("utf-16-be"))),
    _behind(st.binary(max_size=30) | st.lists(st.sampled_from(b"\\\t\n\r\0\x1aN'\""), max_size=30).map(bytes)),
    _behind(st.binary(max_size=8).map(lambda value: value.rstrip(b"\0"))),
    _behind(st.binary(max_size=300), 3),
    _behind(st.builds(lambda x, y, srid: srid + struct.pack("<BIdd", 1, 1, x, y), st.floats(-90, 90),
                      st.floats(-90, 90), st.sampled_from([bytes(4), bytes.fromhex("e6100000")])), 4),
]  # fmt: skip


_ENUM = 14
"""Of VALUES; LOAD DATA does not take the value 0."""


def _image(number: int, parts: list[bytes | None]) -> bytes:
    every = [number.to_bytes(4, "little"), *parts]
    nulls = sum(1 << index for index, part in enumerate(every) if part is None)
    return nulls.to_bytes((len(every) + 7) // 8, "little") + b"".join(part for part in every if part is not None)


@pytest.mark.parametrize("load", [False, True], ids=["insert", "load data"])
def test_literals_become_the_image_that_they_were_made_of(
    same: Pair, load: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By INSERT or LOAD DATA, and by an UPDATE of one row and of many. As the server has logged the rows."""
    server, mysql = same.target, same.target.release.flavour == "mysql"
    columns, strategies = COLUMNS, list(VALUES)
    if load:
        monkeypatch.setattr(load_data, "FEWEST", 1)
        strategies[_ENUM] = strategies[_ENUM].map(lambda value: value if value[0] else b"\1")
    if mysql:
        columns += ", js JSON, ve VECTOR(3)"
        vectors = st.lists(st.floats(-1e9, 1e9, width=32), min_size=3, max_size=3)
        strategies += [
            _behind(documents.filter(lambda raw: not load or text_of(raw) is not None), 4),
            _behind(vectors.map(lambda values: struct.pack("<3f", *values)), 4),
        ]
    same.at_target(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    reader = Reader(server, same.tables, same.there)
    with Session(target.config(server, same.place), "", found_rows=True, sends_rows=load) as session:
        session.rows(f"SET SESSION sql_mode = '{MODE}', time_zone = '+00:00'")
        table = _table(same, session, reader)
        multi_statements.enable(session)

        @given(st.lists(st.tuples(*(st.none() | each for each in strategies)), min_size=1, max_size=5))
        @settings(
            max_examples=60, deadline=None, phases=[Phase.explicit, Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck), database=None,
        )  # fmt: skip
        def check(rows: list[tuple[bytes | None, ...]]) -> None:
            session.rows("DELETE FROM t")
            bare = [_image(number, [None] * len(strategies)) for number in range(len(rows))]
            full = [_image(number, list(row)) for number, row in enumerate(rows)]
            reader.batches()
            assert executed(Run("t", b"I", len(rows), b"".join(full))) == full
            _executed(session, table, Run("t", b"D", len(rows), b"".join(full)), load=load)
            _executed(session, table, Run("t", b"I", len(rows), b"".join(bare)), load=load)
            reader.batches()
            changed = [(one, other) for one, other in zip(bare, full, strict=True) if one != other]
            updates = Run("t", b"U", len(changed), b"".join(one + other for one, other in changed))
            assert [image[len(changed[0][0]) :] for image in executed(updates)] == [other for _, other in changed]

        def executed(run: Run) -> list[bytes]:
            _executed(session, table, run, load=load)
            return [split(record)[1] for batch in reader.batches() for record in batch.records]

        session.rows(f"USE {same.there}")
        with set_global(server, "local_infile", "ON"):
            check()


def _executed(session: Session, table: sql_table.SqlTable, run: Run, *, load: bool) -> None:
    parts = [b"BEGIN", *statements(table, run, load=load), b"COMMIT"]
    outcome = multi_statements.execute(session, text.joined(parts), len(parts), 60)
    if outcome.error is not None:
        session.rows("ROLLBACK")
        raise outcome.error


def _table(same: Pair, session: Session, reader: Reader) -> sql_table.SqlTable:
    same.at_target("INSERT INTO t (id) VALUES (0)")
    (batch,) = reader.batches()
    images = same.tables.table(batch.records[0][0])
    server = read_server(session)
    known = target_definition.read(session, server, same.there, "t", "")
    return sql_table.read(session, server, TriggerGrants(session), images, known, joined=True)
