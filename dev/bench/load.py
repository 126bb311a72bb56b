"""The load: an order system's table of ten columns, written as binlog segments that start with a file of their own."""

from __future__ import annotations

from typing import NamedTuple

from dev.servers.database import Database

DATABASE, TABLE = "bench", "orders"

_SCHEMA = f"""
CREATE TABLE {DATABASE}.{TABLE} (
    id BIGINT NOT NULL PRIMARY KEY,
    customer_id INT UNSIGNED NOT NULL,
    sku VARCHAR(40) NOT NULL,
    quantity SMALLINT NOT NULL,
    price DECIMAL(10,2) NOT NULL,
    status ENUM('new','paid','packed','shipped','returned') NOT NULL,
    created DATETIME(3) NOT NULL,
    updated TIMESTAMP(3) NOT NULL,
    note VARCHAR(200) NULL,
    payload JSON NULL
)"""

_VALUES = """n, n % 50000, CONCAT('SKU-', LPAD(n % 9000, 6, '0')), n % 40 + 1, (n % 99999) / 100, n % 5 + 1,
    '2026-11-21 09:40:12.345', '2026-11-21 09:40:12.345', IF(n % 3, CONCAT('order ', n, ' of the day'), NULL),
    JSON_OBJECT('channel', 'web', 'n', n, 'gift', n % 2 = 0)"""

# Per ten rows: six inserts, three updates, one delete.
_SINGLE = f"""
CREATE PROCEDURE {DATABASE}.single(IN first_id BIGINT, IN total INT)
BEGIN
    DECLARE n BIGINT DEFAULT first_id;
    DECLARE done INT DEFAULT 0;
    WHILE done < total DO
        CASE
            WHEN done % 10 < 6 THEN
                INSERT INTO {DATABASE}.{TABLE} SELECT {_VALUES};
                SET n = n + 1;
            WHEN done % 10 < 9 THEN
                UPDATE {DATABASE}.{TABLE} SET status = status % 5 + 1, quantity = quantity + 1
                WHERE id = n - done % 10 + 5;
            ELSE
                DELETE FROM {DATABASE}.{TABLE} WHERE id = n - 1;
        END CASE;
        COMMIT;
        SET done = done + 1;
    END WHILE;
END"""


class Segment(NamedTuple):
    """Row changes between two places of a binlog: `file`:`start` is where its first transaction begins, `file`:`end`
    where its last one ended."""

    name: str
    file: str
    start: int
    end: int
    rows: int


class Load:
    """Writes segments on a server of its own."""

    def __init__(self, server: Database) -> None:
        self._server = server
        self._next = 1

    def prepare(self) -> None:
        execute = self._server.execute
        execute(f"CREATE DATABASE {DATABASE}")
        execute(_SCHEMA)
        execute(f"CREATE TABLE {DATABASE}.numbers (n BIGINT NOT NULL PRIMARY KEY)")
        execute(f"INSERT INTO {DATABASE}.numbers VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
        for power in range(1, 6):
            execute(
                f"INSERT INTO {DATABASE}.numbers SELECT a.n * {10**power} + b.n FROM {DATABASE}.numbers a "
                f"CROSS JOIN {DATABASE}.numbers b WHERE a.n BETWEEN 1 AND 9 AND b.n < {10**power}"
            )
        execute(_SINGLE)

    def single(self, name: str, rows: int) -> Segment:
        """`rows` transactions of one row each."""
        file, start = self._rotate()
        self._server.execute(f"CALL {DATABASE}.single({self._next}, {rows})")
        self._next += rows
        return self._segment(name, file, start, rows)

    def groups(self, name: str, rows: int, per: int) -> Segment:
        """Transactions of `per` rows each: of ten, six insert, three update, one deletes."""
        file, start = self._rotate()
        for number in range(rows // per):
            self._group(number % 10, per)
        return self._segment(name, file, start, rows // per * per)

    def _group(self, kind: int, per: int) -> None:
        first = self._next
        if kind < 6:
            source = f"(SELECT {first} + n AS n FROM {DATABASE}.numbers WHERE n < {per}) numbered"
            self._server.execute(f"INSERT INTO {DATABASE}.{TABLE} SELECT {_VALUES} FROM {source}")
            self._next += per
        elif kind < 9:
            self._server.execute(
                f"UPDATE {DATABASE}.{TABLE} SET status = status % 5 + 1, quantity = quantity + 1 "
                f"WHERE id BETWEEN {first - per} AND {first - 1}"
            )
        else:
            self._server.execute(f"DELETE FROM {DATABASE}.{TABLE} WHERE id BETWEEN {first - per} AND {first - 1}")

    def _rotate(self) -> tuple[str, int]:
        self._server.execute("FLUSH BINARY LOGS")
        return self._status()

    def _segment(self, name: str, file: str, start: int, rows: int) -> Segment:
        end_file, end = self._status()
        if end_file != file:
            raise RuntimeError(f"the segment {name} went over the end of {file}: raise max_binlog_size")
        return Segment(name, file, start, end, rows)

    def _status(self) -> tuple[str, int]:
        statement = "SHOW MASTER STATUS" if self._server.name == "MariaDB" else "SHOW BINARY LOG STATUS"
        row = self._server.execute(statement)[0]
        return str(row[0]), int(row[1])
