"""Rows inserted by LOAD DATA LOCAL, which says of nothing that it was refused: nothing is lost, and errors are as exact
as those of INSERT."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pymysql.constants import CLIENT

from dev.faults.proxy import Proxy
from replicator.errors import SinkError
from replicator.model.batch import Batch
from replicator.model.target_table import UNCHECKED
from replicator.mysql.session import Session
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.mysql_sink import MySQLSink
from replicator.sink.mysql.sql import load_data
from tests.support import target
from tests.support.row_records import joined
from tests.support.settings import set_global
from tests.support.site_pair import Pair, deliver, deliver_over_cut
from tests.support.waiting import eventually

ROWS = 3 * load_data.FEWEST


@pytest.fixture(autouse=True)
def _allowed(same: Pair) -> Iterator[None]:
    with set_global(same.target, "local_infile", "ON"):
        yield


def loads(pair: Pair) -> int:
    """LOAD DATA statements that the target has executed."""
    return int(pair.target.execute("SHOW GLOBAL STATUS LIKE 'Com_load'")[0][1])


@contextlib.contextmanager
def loading(pair: Pair, count: int) -> Iterator[None]:
    before = loads(pair)
    yield
    assert loads(pair) - before == count


def numbers(pair: Pair, first: int = 1, count: int = ROWS, table: str = "t") -> Batch:
    """A transaction that inserts rows with these numbers in both columns."""
    rows = ",".join(f"({n}, {n})" for n in range(first, first + count))
    return joined(pair.at_source(f"INSERT INTO {table} VALUES {rows}"))


def equal(pair: Pair, table: str = "t", order: str = "id") -> bool:
    here, there = pair.rows(table, order)
    return here == there and bool(here)


def opened(pair: Pair, **options: Any) -> MySQLSink:
    return pair.opened(apply="sql", **options)


TEXTS = [
    "",
    "N",
    "\\N",
    "\\",
    "\\\\",
    "a\tb",
    "\n",
    "\r\n",
    "\0",
    "'\"",
    "NULL",
    "tab at the end\t",
    "ü€",
]


def test_texts_that_look_like_the_format(same: Pair) -> None:
    """Alone in their rows too, where a line may be empty."""
    same.both("CREATE TABLE t (v VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, n INT, PRIMARY KEY (n))")
    same.both("CREATE TABLE alone (v VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY)")
    literals = [f"_utf8mb4 X'{text.encode().hex()}'" for text in TEXTS]
    filler = [f"'{n}'" for n in range(ROWS)]
    sink = opened(same)
    with loading(same, 2):
        for table, rows in (
            ("t", [f"({text}, {n})" for n, text in enumerate([*literals, *filler])]),
            ("alone", [f"({text})" for text in [*literals, *filler]]),
        ):
            deliver(sink, same.at_source(f"INSERT INTO {table} VALUES {','.join(rows)}"))
    assert equal(same, order="n") and equal(same, "alone", "v")


CHARSETS = [
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp866", "cp932", "eucjpms", "euckr", "gb2312", "gbk", "geostd8",
    "greek", "hebrew", "koi8r", "latin1", "latin5", "macce", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16",
    "utf16le", "utf32", "utf8mb3", "utf8mb4",
]  # fmt: skip


def test_character_sets(same: Pair) -> None:
    """Bytes of two-byte characters that are an escape character or a separator as well."""
    columns = ",".join(
        f"c_{name} VARCHAR(40) CHARACTER SET {name}, d_{name} CHAR(40) CHARACTER SET {name}" for name in CHARSETS
    )
    same.both(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) ROW_FORMAT=DYNAMIC")
    text = "ソ表\t十\\能\n申 ä Ж א  "
    value = f"_utf8mb4 X'{text.encode().hex()}'"
    rows = ",".join(f"({n}{f',{value}' * 2 * len(CHARSETS)})" for n in range(ROWS))
    batches = same.at_source("SET SESSION sql_mode = ''", f"INSERT INTO t VALUES {rows}")
    with loading(same, 1):
        deliver(opened(same), batches)
    names = ",".join(f"HEX(c_{name}), HEX(d_{name})" for name in CHARSETS)
    here, there = (
        server.execute(f"SELECT {names} FROM {database}.t ORDER BY id")
        for server, database in ((same.source, same.here), (same.target, same.there))
    )
    assert here == there and len(here) == ROWS


def test_types_of_mariadb(same: Pair) -> None:
    if same.target.release.flavour != "mariadb":
        same.both("CREATE TABLE t (id INT PRIMARY KEY, b BINARY(16), v BIT(64), s SET('1','2','4'), e ENUM('2','1'))")
        row = "X'000a095c00000000000000000000ff00', b'1010', '4,1', '1'"
    else:
        same.both("CREATE TABLE t (id INT PRIMARY KEY, u UUID, i INET6, f INET4, e ENUM('2','1'))")
        row = "'123e4567-e89b-12d3-a456-426655440000', '2001:db8::a', '10.9.92.0', '1'"
    with loading(same, 1):
        deliver(
            opened(same),
            same.at_source(f"INSERT INTO t VALUES {','.join(f'({n}, {row})' for n in range(ROWS))}"),
        )
    assert equal(same)


@pytest.mark.parametrize("wrong", ["duplicate", "unique", "check", "foreign key"])
def test_a_row_that_is_refused(same: Pair, wrong: str) -> None:
    """The error names the row and the reason, and nothing of the transaction is left."""
    columns = "(id INT PRIMARY KEY, v INT)"
    same.both(f"CREATE TABLE t {columns}", "CREATE TABLE p (id INT PRIMARY KEY)")
    same.at_target(*{
        "duplicate": ["INSERT INTO t VALUES (7, 0)"],
        "unique": ["ALTER TABLE t ADD UNIQUE (v)", "INSERT INTO t VALUES (-1, 7)"],
        "check": ["ALTER TABLE t ADD CONSTRAINT low CHECK (v < 7 OR v > 7)"],
        "foreign key": [
            "ALTER TABLE t ADD CONSTRAINT refers FOREIGN KEY (v) REFERENCES p (id)",
            f"INSERT INTO p VALUES {','.join(f'({n})' for n in range(1, ROWS + 1) if n != 7)}",
        ],
    }[wrong])  # fmt: skip
    sink = opened(same)
    before, position = same.rows("t")[1], same.position()
    batch = numbers(same)
    if wrong == "foreign key" and (batch.records[0][2] or b"").startswith(UNCHECKED):  # MySQL from 9.6 on
        deliver(sink, [batch])
        assert equal(same)
        return
    with loading(same, 1), pytest.raises(SinkError, match=r"row 6 of the transaction") as raised:
        deliver(sink, [batch])
    assert raised.value.code == ("E3424" if wrong in ("duplicate", "unique") else "E3425")
    assert (same.rows("t")[1], same.position()) == (before, position)


def test_a_warning_alone(same: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """Rows that INSERT takes and LOAD DATA does not: an ENUM with the value 0. Said once, and not tried again."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v ENUM('a'))", "CREATE TABLE u (id INT PRIMARY KEY, v INT)")
    rows = ",".join(f"({n}, '')" for n in range(ROWS))
    sink = opened(same)
    lenient = "SET SESSION sql_mode = ''"
    with caplog.at_level(logging.WARNING), loading(same, 1):
        deliver(sink, same.at_source(lenient, f"INSERT INTO t VALUES {rows}"))
        deliver(sink, same.at_source(lenient, f"INSERT INTO t VALUES {rows.replace('(', '(-1')}"))
    assert caplog.text.count(f"rows of {same.there}.t are written by INSERT") == 1
    with loading(same, 1):
        deliver(sink, [numbers(same, table="u")])
    assert equal(same) and equal(same, "u")


def test_values_that_do_not_fit(same: Pair) -> None:
    """Into a column that somebody has changed meanwhile: LOAD DATA would store the largest value that it takes."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    sink = opened(same)
    deliver(sink, [numbers(same, 1, 5)])
    same.at_target("ALTER TABLE t MODIFY v TINYINT")
    with loading(same, 1), pytest.raises(SinkError, match=r"E3425.*row 122 "):
        deliver(sink, [numbers(same, 6)])
    assert len(same.rows("t")[1]) == 5


def test_documents_that_are_no_text(same: Pair) -> None:
    """Numbers and times that a JSON text does not have."""
    if same.target.release.flavour == "mariadb":
        same.both("CREATE TABLE t (id INT PRIMARY KEY, v JSON)")  # a text
        value = '\'{"a": [1.50, "2024-01-01"]}\''
    else:
        same.both("CREATE TABLE t (id INT PRIMARY KEY, v JSON)")
        value = "JSON_OBJECT('a', 1.50, 'b', CAST('2024-01-01' AS DATE), 'c', CAST(5 AS UNSIGNED))"
    rows = [f"({n}, {value if n % 500 == 499 else 'JSON_ARRAY(1, 2.5, 70000, NULL)'})" for n in range(ROWS)]
    sink = opened(same)
    with loading(same, 1):
        deliver(sink, same.at_source(f"INSERT INTO t VALUES {','.join(rows)}"))
    assert equal(same)
    if same.target.release.flavour == "mysql":
        types = "JSON_TYPE(v->'$.a'), JSON_TYPE(v->'$.b'), JSON_TYPE(v->'$.c')"
        found = same.target.execute(f"SELECT {types} FROM {same.there}.t WHERE id = 499")
        assert found == [("DECIMAL", "DATE", "UNSIGNED INTEGER")]


def test_warnings_that_are_not_kept(same: Pair) -> None:
    """They count nevertheless."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    same.at_target("ALTER TABLE t ADD CHECK (v <> 3)")
    with set_global(same.target, "max_error_count", "0"), pytest.raises(SinkError, match=r"E3425.*row 2"):
        deliver(opened(same), [numbers(same)])
    assert same.rows("t")[1] == []


def test_off_at_the_server(same: Pair) -> None:
    """From the beginning, by the configuration, and from some moment on."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    with loading(same, 0):
        deliver(opened(same, load_data=False), [numbers(same, 1)])
    sink = opened(same)
    with loading(same, 1):
        deliver(sink, [numbers(same, 10_000)])
    with set_global(same.target, "local_infile", "OFF"):
        deliver(sink, [numbers(same, 20_000)])
        deliver(sink, [numbers(same, 30_000)])
        sink = opened(same)
        with loading(same, 0):
            deliver(sink, [numbers(same, 40_000)])
    assert equal(same)


def test_large_transactions(same: Pair) -> None:
    """Of several parts, of which a later one is refused: rows of the earlier ones are not lost."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v ENUM('a'), b VARCHAR(2000))")
    sink = opened(same)
    digits = "SELECT 1 n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7"
    many = f"FROM ({digits}) a, ({digits}) b, ({digits}) c, ({digits}) d, ({digits}) e"
    (batch,) = same.at_source(
        "SET SESSION sql_mode = ''",
        "BEGIN",
        f"INSERT INTO t SELECT @n := IFNULL(@n, 0) + 1, 'a', REPEAT('x', 1000) {many}",
        "INSERT INTO t SELECT id + 1000000, '', '' FROM t WHERE id < 1000",
        "INSERT INTO t SELECT id + 2000000, 'a', REPEAT('y', 1000) FROM t WHERE id < 10000",
        "COMMIT",
    )
    deliver(sink, [batch])
    assert equal(same)
    assert loads(same) > 2


@pytest.mark.parametrize("policy", ["source_wins", "keep_target"])
def test_conflicts(same: Pair, policy: str) -> None:
    """Rows that are there already are found by reading them, and LOAD DATA inserts the others."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    same.at_target("INSERT INTO t VALUES (5, 0), (50, 0)")
    sink = opened(same, conflict=policy)
    deliver(sink, [numbers(same)])
    kept = policy == "keep_target"
    assert [row for row in same.rows("t")[1] if row[0] != row[1]] == ([(5, 0), (50, 0)] if kept else [])
    assert len(same.rows("t")[1]) == ROWS
    assert sum(each.count for each in sink.conflicts) == 2


@pytest.mark.parametrize("after", [600, 1_500, 3_000, 6_000, 9_000])
def test_a_connection_that_is_cut(same: Pair, after: int) -> None:
    """While the rows are sent: all of the transaction, or nothing."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    with Proxy(same.target.port) as proxy:
        sink = opened(same, port=proxy.port)
        first = numbers(same)
        before = deliver(sink, [first])
        batch = numbers(same, 10_000)
        if not deliver_over_cut(sink, proxy, batch, after, "up", before):
            deliver(sink, [batch])
        assert equal(same)


def test_rows_of_two_terms(same: Pair) -> None:
    """An earlier term loads nothing: the fence is in front of the rows."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    old = opened(same)
    batches = [numbers(same), numbers(same, 10_000)]
    deliver(old, batches[:1])
    new = same.opened(2, apply="sql")
    with pytest.raises(SinkError, match="E34"):
        deliver(old, batches[1:])
    deliver(new, batches[1:])
    assert equal(same)


def test_said_once(same: Pair, caplog: pytest.LogCaptureFixture) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    sink = same.sink(apply="sql")
    with caplog.at_level(logging.INFO):
        sink.open(target.term())
        assert "by LOAD DATA LOCAL" in caplog.text
        caplog.clear()
        with set_global(same.target, "local_infile", "OFF"):
            sink.open(target.term())
            assert "local_infile = OFF" in caplog.text
            caplog.clear()
            sink.open(target.term())
            assert "LOAD DATA" not in caplog.text


def test_a_connection_that_is_lost_each_time(same: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """As by a proxy that does not let LOAD DATA pass: after the third time rows are written by INSERT."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    with Proxy(same.target.port) as proxy:
        sink = opened(same, port=proxy.port)
        before = deliver(sink, [numbers(same)])
        batch = numbers(same, 10_000, 10_000)
        for _ in range(3):  # behind the questions about the table, in the middle of its rows
            assert not deliver_over_cut(sink, proxy, batch, 40_000, "up", before)
        assert "written by INSERT until the task restarts" in caplog.text
        with loading(same, 0):
            deliver(sink, [batch])
    assert equal(same)


ALTERED = [
    ("BIT(16)", "INT", "0x3132", 12594),
    ("BIT(8)", "INT", "b'00110001'", 49),
    ("VARCHAR(9) CHARACTER SET ucs2", "VARCHAR(9) CHARACTER SET utf8mb4", "'2'", "2"),
    ("VARCHAR(9) CHARACTER SET latin1", "VARCHAR(9) CHARACTER SET cp850", "'ä'", "ä"),
    ("VARCHAR(9) CHARACTER SET latin1", "VARCHAR(9) CHARACTER SET utf8mb4", "'Ã¤'", "Ã¤"),
    ("VARCHAR(9) CHARACTER SET utf8mb3", "VARCHAR(9) CHARACTER SET latin1", "'ä'", "ä"),
]


@pytest.mark.parametrize(("before", "after", "value", "wanted"), ALTERED)
def test_columns_that_somebody_alters(same: Pair, before: str, after: str, value: str, wanted: object) -> None:
    """To another type or character set during the session: the value stays, as with INSERT."""
    same.both(f"CREATE TABLE t (id INT PRIMARY KEY, v {before})")
    sink = opened(same)
    deliver(sink, same.at_source("INSERT INTO t VALUES (-1, NULL)"))
    same.at_target(f"ALTER TABLE t MODIFY v {after}")
    rows = ",".join(f"({n}, {value})" for n in range(ROWS))
    with loading(same, 1):
        deliver(sink, same.at_source(f"INSERT INTO t VALUES {rows}"))
    assert same.target.execute(f"SELECT v, COUNT(*) FROM {same.there}.t WHERE id >= 0 GROUP BY v") == [(wanted, ROWS)]


@pytest.mark.parametrize("most", [131_072, 262_144])
def test_small_packets(same: Pair, most: int) -> None:
    """No packet of rows is larger than what the server takes."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200))")
    rows = ",".join(f"({n}, '{'x' * 190}')" for n in range(2_500))
    batches = same.at_source(f"INSERT INTO t VALUES {rows}")
    with set_global(same.target, "max_allowed_packet", str(most)):
        sink = opened(same)
        before = loads(same)
        deliver(sink, batches)
        assert loads(same) > before
    assert equal(same)


def test_an_aborted_session_says_nothing(same: Pair) -> None:
    """A farewell could complete the packet that it was in the middle of, and the rows with it."""

    def aborted() -> int:
        return int(same.target.execute("SHOW GLOBAL STATUS LIKE 'Aborted_clients'")[0][1])

    for end, more in ((Session.close, 0), (Session.abort, 1)):
        before = aborted()
        session = Session(target.config(same.target, same.place), "")
        ident = session.value("SELECT CONNECTION_ID()")
        end(session)
        there = f"SELECT ID FROM information_schema.PROCESSLIST WHERE ID = {ident}"
        eventually(lambda there=there: not same.target.execute(there))  # type: ignore[misc]
        assert aborted() - before == more


def test_several_connections(same: Pair) -> None:
    """Commits that they divide have INSERT; one that is refused is repeated over one connection, where LOAD DATA fails
    as well, and then INSERT, which names the row."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300))")
    sink = opened(same, order="key", connections=2)

    def rows(first: int) -> str:
        values = ",".join(f"({n}, '{'x' * 250}')" for n in range(first, first + 1_000))
        return f"INSERT INTO t VALUES {values}"

    with loading(same, 0):
        deliver(sink, same.at_source(rows(0)))
    assert equal(same)
    same.at_target("INSERT INTO t VALUES (10007, '')")
    with pytest.raises(SinkError, match=r"E3424.*row 7 "):
        deliver(sink, same.at_source(rows(10_000)))
    assert len(same.rows("t")[1]) == 1_001


@pytest.mark.parametrize(
    ("options", "announced"),
    [({}, True), ({"apply": "sql"}, True), ({"apply": "binlog"}, False), ({"load_data": False}, False)],
)
def test_what_is_announced_to_the_server(same: Pair, options: dict[str, Any], announced: bool) -> None:
    opened_target = Target(target.config(same.target, same.place, **options), "")
    flags = opened_target.session.connection.client_flag
    opened_target.close()
    assert bool(flags & CLIENT.LOCAL_FILES) == announced
    with Session(target.config(same.target, same.place), "") as source:
        assert not source.connection.client_flag & CLIENT.LOCAL_FILES
