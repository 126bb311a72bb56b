"""The load: an order system's table of ten columns, written as binlog segments that have a file each."""

from __future__ import annotations

from typing import NamedTuple

from dev.servers.database import Database

DATABASE, TABLE = "bench", "orders"

SCHEMA = f"""
CREATE TABLE {DATABASE}.{TABLE} (
    id BIGINT NOT NULL PRIMARY KEY,
    customer_id INT UNSIGNED NOT NULL,
    sku VARCHAR(40) NOT NULL,
    quantity INT NOT NULL,
    price DECIMAL(10,2) NOT NULL,
    status TINYINT NOT NULL,
    created DATETIME(3) NOT NULL,
    updated TIMESTAMP(3) NOT NULL,
    note TEXT NULL,
    payload JSON NULL
)"""

_VALUES = """n, n % 50000, CONCAT('SKU-', LPAD(n % 9000, 6, '0')), n % 40 + 1, (n % 99999) / 100, n % 5 + 1,
    '2026-11-21 09:40:12.345', '2026-11-21 09:40:12.345', IF(n % 3, CONCAT('order ', n, ' of the day'), NULL),
    JSON_OBJECT('channel', 'web', 'n', n, 'gift', n % 2 = 0)"""

# Statements of `per` rows, each a transaction. Of ten "mixed" ones, six insert, three update and one deletes what was
# inserted last, in such an order that the first few are a mixture, too; the other kinds go over the keys from
# `first_id` on.
_FILL = f"""
CREATE PROCEDURE {DATABASE}.fill(IN kind VARCHAR(10), IN first_id BIGINT, IN total INT, IN per INT)
BEGIN
    DECLARE at BIGINT DEFAULT first_id;
    DECLARE here BIGINT;
    DECLARE done INT DEFAULT 0;
    DECLARE step VARCHAR(10);
    WHILE done < total DO
        SET step = IF(kind <> 'mixed', kind, ELT(done DIV per % 10 + 1,
            'insert', 'update', 'insert', 'delete', 'insert', 'insert', 'update', 'insert', 'insert', 'update'));
        SET here = IF(kind = 'mixed' AND step <> 'insert', at - per, at);
        CASE step
            WHEN 'insert' THEN
                INSERT INTO {DATABASE}.{TABLE} SELECT {_VALUES}
                FROM (SELECT here + digits.n AS n FROM {DATABASE}.numbers digits WHERE digits.n < per) numbered;
            WHEN 'update' THEN
                UPDATE {DATABASE}.{TABLE} SET status = status % 5 + 1, quantity = quantity + 1
                WHERE id BETWEEN here AND here + per - 1;
            ELSE
                DELETE FROM {DATABASE}.{TABLE} WHERE id BETWEEN here AND here + per - 1;
        END CASE;
        IF kind <> 'mixed' OR step = 'insert' THEN
            SET at = at + per;
        END IF;
        SET done = done + per;
    END WHILE;
END"""

_SHORT, _FEWEST = 30, 4
"""A segment's beginning is this part of it, and as many transactions at least: one of them deletes."""


_FILLED = 20_000
"""Rows of a transaction that fills the table for snapshots."""

KINDS = ("inserts", "updates", "deletes")


class Segment(NamedTuple):
    """Row changes between two places of a binlog: `file`:`start` is where its first transaction begins, `file`:`end`
    where its last one ended. `short`: where a smaller number of transactions ends, `short_rows`: how many rows those
    are, for paths so slow that a median of the whole would take hours. deletes: those among `rows`.
    gtids: executed before `start`; "" on MariaDB."""

    name: str
    file: str
    start: int
    end: int
    rows: int
    short: int
    short_rows: int
    deletes: int = 0
    gtids: str = ""


def _deletes(transactions: int, per: int) -> int:
    """The fourth of ten."""
    return (transactions + 6) // 10 * per


class Load:
    """Writes segments on a server of its own."""

    def __init__(self, server: Database) -> None:
        self._server = server
        self._next = 1

    def prepare(self) -> None:
        execute = self._server.execute
        execute(f"CREATE DATABASE {DATABASE}")
        execute(SCHEMA)
        execute(f"CREATE TABLE {DATABASE}.numbers (n BIGINT NOT NULL PRIMARY KEY)")
        execute(f"INSERT INTO {DATABASE}.numbers VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
        for power in range(1, 6):
            execute(
                f"INSERT INTO {DATABASE}.numbers SELECT a.n * {10**power} + b.n FROM {DATABASE}.numbers a "
                f"CROSS JOIN {DATABASE}.numbers b WHERE a.n BETWEEN 1 AND 9 AND b.n < {10**power}"
            )
        execute(_FILL)

    def mixed(self, name: str, rows: int, per: int) -> Segment:
        """`rows // per` transactions of `per` rows each: of ten, six insert, three update, one deletes."""
        transactions = max(rows // per, 1)
        short = min(max(transactions // _SHORT, _FEWEST), transactions)
        file, start = self._rotate()
        gtids = self._gtids()
        self._fill("mixed", short, per)
        middle = self._status()[1]
        self._fill("mixed", transactions - short, per)
        deletes = _deletes(short, per) + _deletes(transactions - short, per)
        return self._segment(Segment(name, file, start, 0, transactions * per, middle, short * per, deletes, gtids))

    def kinds(self, rows: int, per: int) -> dict[str, Segment]:
        """Kind -> a segment of nothing else; the same rows are inserted, updated and deleted."""
        first = self._next
        segments = {}
        for kinds in KINDS:
            kind = kinds.removesuffix("s")
            self._next = first
            file, start = self._rotate()
            self._fill(kind, rows // per, per)
            whole = rows // per * per
            draft = Segment(f"{kind}s_tx{per}", file, start, 0, whole, 0, whole, whole * (kind == "delete"))
            segments[kind] = self._segment(draft)
        return segments

    def table(self, rows: int) -> Segment:
        """Replaces the rows of the table by those from 1 to `rows`, without writing them to the binlog. Returns them as
        what a snapshot reads: of no file."""
        connection = self._server.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION sql_log_bin = 0")
                cursor.execute(f"TRUNCATE {DATABASE}.{TABLE}")
                cursor.execute(f"CALL {DATABASE}.fill('insert', 1, {rows}, {min(rows, _FILLED)})")
                cursor.execute(f"ANALYZE TABLE {DATABASE}.{TABLE}")
        finally:
            connection.close()
        self._next = max(self._next, rows + 1)
        return Segment("orders", "", 4, 0, rows, 0, rows)

    def close_last(self) -> None:
        """Begins another file, so that the last segment, too, has its own."""
        self._rotate()

    def _fill(self, kind: str, transactions: int, per: int) -> None:
        if transactions:
            self._server.execute(f"CALL {DATABASE}.fill('{kind}', {self._next}, {transactions * per}, {per})")
            self._next += transactions * per

    def _rotate(self) -> tuple[str, int]:
        self._server.execute("FLUSH BINARY LOGS")
        return self._status()

    def _segment(self, draft: Segment) -> Segment:
        file, end = self._status()
        if file != draft.file:
            raise RuntimeError(f"the segment {draft.name} went over the end of {draft.file}: raise max_binlog_size")
        return draft._replace(end=end, short=draft.short or end)

    def _gtids(self) -> str:
        if self._server.name == "MariaDB":
            return ""
        return str(self._server.execute("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "")

    def _status(self) -> tuple[str, int]:
        return self._server.end_of_log()
