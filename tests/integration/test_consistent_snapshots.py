"""Snapshots from one moment, on real servers: what their rows alone add up to, and what becomes of a lost view."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dev.servers.database import Database, MariaDB
from replicator.assembly import snapshot_checks
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError, SourceError
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_report import report
from tests.integration import test_snapshots
from tests.integration.test_snapshots import Copy
from tests.support.present import present

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
plain_place = test_snapshots.place

TABLES = ("paid", "owed", "saved")
ACCOUNTS, BALANCE = 3000, 100
TOTAL = len(TABLES) * ACCOUNTS * BALANCE
SLOW = {"chunk_rows": 100, "max_rows_per_s": 6000}


LEAST = "SELECT, REPLICATION SLAVE, REPLICATION CLIENT"
USER = "cutter"


@pytest.fixture
def place(plain_place: tuple[Database, str]) -> Iterator[tuple[Database, str]]:
    """With an account that may lock."""
    server, shop = plain_place
    make_account(server)
    yield server, shop
    server.execute(f"DROP USER {USER}@'%'")


def make_account(server: Database) -> None:
    server.execute(f"DROP USER IF EXISTS {USER}@'%'")
    server.execute(f"CREATE USER {USER}@'%' IDENTIFIED BY 'replicator'")
    server.execute(f"GRANT {LEAST}, RELOAD ON *.* TO {USER}@'%'")


class Transfers:
    """Moves money between accounts of all tables, in transactions that leave the sum as it is."""

    def __init__(self, server: Database, shop: str, writers: int = 4) -> None:
        self._server, self._shop = server, shop
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(seed,)) for seed in range(writers)]
        self.done = 0

    def __enter__(self) -> Transfers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *ignored: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, seed: int) -> None:
        chance = random.Random(seed)
        connection = self._server.connect(autocommit=False)
        with connection, connection.cursor() as cursor:
            while not self._stop.is_set():
                try:
                    self._transfer(cursor, chance)
                    connection.commit()
                    self.done += 1
                except Exception as error:
                    connection.rollback()
                    if not error.args or error.args[0] not in (1213, 1062, 1205):
                        raise

    def _transfer(self, cursor: Any, chance: random.Random) -> None:
        amount = chance.randrange(1, 50)
        for sign in (-1, 1):
            table = f"{self._shop}.{chance.choice(TABLES)}"
            cursor.execute(
                f"INSERT INTO {table} VALUES (%s, %s) ON DUPLICATE KEY UPDATE balance = balance + VALUES(balance)",
                (chance.randrange(ACCOUNTS), sign * amount),
            )
        if chance.randrange(4) == 0:  # an account moves to another table, with what it has
            one, other = chance.sample(TABLES, 2)
            key = chance.randrange(ACCOUNTS)
            cursor.execute(f"SELECT balance FROM {self._shop}.{one} WHERE id = %s FOR UPDATE", (key,))
            for (balance,) in cursor.fetchall():
                cursor.execute(f"DELETE FROM {self._shop}.{one} WHERE id = %s", (key,))
                cursor.execute(
                    f"INSERT INTO {self._shop}.{other} VALUES (%s, %s) "
                    "ON DUPLICATE KEY UPDATE balance = balance + VALUES(balance)",
                    (key, balance),
                )


class Seen:
    """An observer that remembers what was waited for, and is told of progress."""

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.errors: list[ReplicatorError] = []
        self.progressed: Callable[[SnapshotProgress], None] = lambda progress: None

    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: ReplicatorError) -> None:
        self.codes.append(error.code)
        self.errors.append(error)

    def progress(self, checkpoint: Any, figures: object) -> None:
        if checkpoint.position.snapshot is not None:
            self.progressed(checkpoint.position.snapshot)


class Cut(Copy):
    """A copy whose rows are of one moment."""

    def __init__(self, server: Database, shop: str, **snapshot: Any) -> None:
        super().__init__(server, "cut", [f"{shop}.*"], consistent=True, **snapshot)
        self.data["source"]["user"] = USER
        self.seen = Seen()

    def pipeline(self, **options: Any) -> Any:
        pipeline = super().pipeline(save_interval=0.05, **options)
        pipeline._observer = self.seen
        return pipeline

    @property
    def progress(self) -> SnapshotProgress:
        return present(present(self.store.load()).position.snapshot)

    def rows(self) -> list[tuple[str, str, dict[str, Any] | None, str]]:
        """Operation, table, row, marker of each record, in their order."""
        found = []
        for record in self.broker.records:
            value = json.loads(record.value or b"null")
            if value is not None and "op" in value:
                row = value["after"] or value["before"]
                found.append((value["op"], value["source"]["table"], row, value["source"]["snapshot"]))
        return found

    def last_snapshot(self) -> list[tuple[str, dict[str, Any] | None]]:
        """Table and row of the records from the last one that is marked as the first."""
        rows = self.rows()
        first = max(number for number, row in enumerate(rows) if row[3] == "first")
        return [(table, row) for operation, table, row, _ in rows[first:] if operation == "r"]

    def balances(self) -> dict[tuple[str, int], int]:
        """What a consumer has that takes all records in their order."""
        found: dict[tuple[str, int], int] = {}
        for operation, table, row, _ in self.rows():
            row = present(row)
            if operation == "d":
                found.pop((table, row["id"]), None)
            else:
                found[table, row["id"]] = row["balance"]
        return found


@pytest.fixture
def bank(place: tuple[Database, str]) -> tuple[Database, str]:
    fill(*place)
    return place


def fill(server: Database, shop: str) -> None:
    for table in TABLES:
        server.execute(f"CREATE TABLE {shop}.{table} (id INT PRIMARY KEY, balance INT NOT NULL)")
        values = ", ".join(f"({number}, {BALANCE})" for number in range(ACCOUNTS))
        server.execute(f"INSERT INTO {shop}.{table} VALUES {values}")


def at_source(server: Database, shop: str) -> dict[tuple[str, int], int]:
    return {
        (table, row[0]): row[1] for table in TABLES for row in server.execute(f"SELECT id, balance FROM {shop}.{table}")
    }


@pytest.mark.parametrize("connections", [1, 4])
def test_the_rows_are_of_one_moment_and_the_stream_goes_on_behind_it(
    bank: tuple[Database, str], connections: int
) -> None:
    server, shop = bank
    copy = Cut(server, shop, connections=connections, marker_topic="{task}.done", **SLOW)
    with Transfers(server, shop) as transfers:
        time.sleep(0.3)
        copy.run()
    copy.run()
    assert transfers.done > 100 and copy.seen.codes == []
    taken = copy.last_snapshot()
    assert sum(row["balance"] for _, row in taken if row) == TOTAL
    keys = [(table, present(row)["id"]) for table, row in taken]
    assert len(keys) == len(set(keys)) and keys == sorted(keys), "each row once, in the order of the keys"
    marks = [row[3] for row in copy.rows() if row[0] == "r"]
    assert (marks[0], marks[-1], marks.count("first")) == ("first", "last", 1)
    operations = [row[0] for row in copy.rows()]
    last = len(operations) - operations[::-1].index("r")
    assert operations[operations.index("r") : last] == ["r"] * len(taken), "nothing of the stream is in between"
    assert {"c", "u", "d"} <= set(operations[last:])
    assert copy.balances() == at_source(server, shop)
    progress = copy.progress
    assert progress.view == progress.consistent_since and not progress.cut_open
    assert (progress.cuts, progress.again, progress.rows) == (1, 0, len(taken)) and 0 < progress.lock_ms < 5000
    told = json.loads(next(record for record in copy.broker.records if record.topic == "cut.done").value or b"")
    assert told["additional_data"]["position"] == progress.view
    shown = report(progress, progress.ended_ms)
    assert (shown.view, shown.lock_ms, shown.views, shown.rows_again) == (progress.view, progress.lock_ms, 1, 0)


def threads_of_views(server: Database) -> list[int]:
    rows = server.execute(
        "SELECT id FROM information_schema.processlist WHERE user = 'cutter' AND command <> 'Binlog Dump GTID' "
        "AND command <> 'Binlog Dump'"
    )
    return [int(row[0]) for row in rows]


def test_a_lost_connection_begins_again_from_a_new_view(bank: tuple[Database, str]) -> None:
    server, shop = bank
    copy, killed = Cut(server, shop, connections=4, **SLOW), threading.Event()

    def kill(progress: SnapshotProgress) -> None:
        if progress.rows > 2000 and not killed.is_set():
            killed.set()
            for thread in threads_of_views(server):
                with contextlib.suppress(Exception):
                    server.execute(f"KILL {thread}")

    copy.seen.progressed = kill
    with Transfers(server, shop):
        copy.run()
    copy.run()
    # E2224: the writers and a busy machine delay the second lock, which is tried again.
    assert killed.is_set() and copy.seen.codes and set(copy.seen.codes) <= {"E2002", "E2224", "E2225"}
    assert sum(row["balance"] for _, row in copy.last_snapshot() if row) == TOTAL
    assert copy.balances() == at_source(server, shop)
    progress = copy.progress
    assert progress.cuts == 2 and progress.again > 2000 and progress.rows == len(copy.last_snapshot())


def test_a_successor_begins_again(bank: tuple[Database, str]) -> None:
    """The worker that had the views is gone, as after SIGKILL: what it has committed is not continued."""
    server, shop = bank
    copy = Cut(server, shop, connections=4, **SLOW)
    pipeline = copy.pipeline()

    def stop(progress: SnapshotProgress) -> None:
        if progress.rows > 2000:
            pipeline.drain()

    copy.seen.progressed = stop
    with Transfers(server, shop):
        pipeline.run()
        before = copy.progress
        assert before.cut_open and 2000 < before.rows < 3 * ACCOUNTS
        copy.seen.progressed = lambda progress: None
        copy.run()
    copy.run()
    assert sum(row["balance"] for _, row in copy.last_snapshot() if row) == TOTAL
    assert copy.balances() == at_source(server, shop)
    progress = copy.progress
    assert (progress.cuts, progress.again) == (2, before.rows) and progress.view != before.view


ALTERED = {
    "altered": "ALTER TABLE {shop}.saved ADD COLUMN note VARCHAR(10)",
    "truncated": "TRUNCATE TABLE {shop}.saved",
    "renamed": "RENAME TABLE {shop}.saved TO {shop}.other",
    "exchanged": "RENAME TABLE {shop}.saved TO {shop}.other, {shop}.twin TO {shop}.saved",
    "dropped": "DROP TABLE {shop}.saved",
}


def test_rows_that_are_exchanged_with_a_partition_begin_it_again(bank: tuple[Database, str]) -> None:
    """Neither definitions nor times of creation tell of it, and the view sees the other rows."""
    server, shop = bank
    told = {finding.id: finding for finding in snapshot_checks.check(parse_task(Cut(server, shop).data))}
    assert "PROCESS" in told["source.snapshot_exchange"].fix
    server.execute(f"GRANT PROCESS ON *.* TO {USER}@'%'")
    told = {finding.id: finding for finding in snapshot_checks.check(parse_task(Cut(server, shop).data))}
    assert "source.snapshot_exchange" not in told
    server.execute(f"CREATE TABLE {shop}.`tw-ö` LIKE {shop}.saved")
    server.execute(f"INSERT INTO {shop}.`tw-ö` VALUES (7, 1)")
    server.execute(
        f"ALTER TABLE {shop}.saved PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (1000), "
        "PARTITION high VALUES LESS THAN MAXVALUE)"
    )
    time.sleep(1.1)
    copy, exchanged = Cut(server, shop, **SLOW), threading.Event()

    def exchange(progress: SnapshotProgress) -> None:
        if progress.rows > 500 and not exchanged.is_set():
            exchanged.set()
            server.execute(f"ALTER TABLE {shop}.saved EXCHANGE PARTITION low WITH TABLE {shop}.`tw-ö`")

    copy.seen.progressed = exchange
    copy.run()
    assert exchanged.is_set() and copy.seen.codes == ["E2225"]
    assert "exchanged" in str(copy.seen.errors[0].found)
    assert copy.progress.cuts == 2 and copy.progress.again > 500
    taken = copy.last_snapshot()
    assert [present(row)["id"] for table, row in taken if table == "saved"] == [7, *range(1000, 3000)]
    assert [present(row)["id"] for table, row in taken if table == "tw-ö"] == list(range(1000))


def test_other_tables_that_are_altered_leave_the_view(bank: tuple[Database, str]) -> None:
    server, shop = bank
    server.execute(f"GRANT PROCESS ON *.* TO {USER}@'%'")
    server.execute(f"CREATE TABLE {shop}.aaa (id INT PRIMARY KEY)")
    copy, altered = Cut(server, shop, **SLOW), threading.Event()

    def alter(progress: SnapshotProgress) -> None:
        if progress.rows > 500 and not altered.is_set():
            altered.set()
            server.execute(f"ALTER TABLE {shop}.aaa ADD COLUMN note INT, FORCE")

    copy.seen.progressed = alter
    copy.run()
    assert altered.is_set() and (copy.seen.codes, copy.progress.cuts) == ([], 1)


@pytest.mark.parametrize("statement", ALTERED.values(), ids=ALTERED)
def test_a_table_that_is_altered_before_it_is_read_begins_it_again(bank: tuple[Database, str], statement: str) -> None:
    server, shop = bank
    server.execute(f"CREATE TABLE {shop}.twin LIKE {shop}.saved")
    time.sleep(1.1)  # times of creation are whole seconds
    copy, altered = Cut(server, shop, **SLOW), threading.Event()

    def alter(progress: SnapshotProgress) -> None:
        if progress.rows > 500 and not altered.is_set():
            altered.set()
            server.execute(statement.format(shop=shop))

    copy.seen.progressed = alter
    copy.run()
    copy.run()
    assert altered.is_set() and copy.seen.codes == ["E2225"]
    assert copy.progress.cuts == 2 and copy.progress.again > 500
    names = {name: f"{shop}.{name}" for name in ("paid", "owed", "saved", "other", "twin")}
    present_ones = {row[0] for row in server.execute(f"SHOW TABLES FROM {shop}")}
    rows = {name: server.execute(f"SELECT id FROM {full}") for name, full in names.items() if name in present_ones}
    taken = copy.last_snapshot()
    expected = [(name, row[0]) for name in sorted(rows) for row in sorted(rows[name])]
    assert [(table, present(row)["id"]) for table, row in taken] == expected


def test_a_table_that_was_read_is_altered_while_others_are_read(bank: tuple[Database, str]) -> None:
    """Its metadata lock has ended with its rows: the statement does not wait for the snapshot."""
    server, shop = bank
    copy, altered = Cut(server, shop, **SLOW), threading.Event()

    def alter(progress: SnapshotProgress) -> None:
        if progress.finished == 1 and progress.rows < 2 * ACCOUNTS and not altered.is_set():
            altered.set()
            begun = time.monotonic()
            server.execute(f"ALTER TABLE {shop}.{progress.last.partition('.')[2]} ADD COLUMN note VARCHAR(10)")
            assert time.monotonic() - begun < 10

    copy.seen.progressed = alter
    copy.run()
    assert altered.is_set() and copy.seen.codes == [] and copy.progress.cuts == 1
    assert len(copy.last_snapshot()) == 3 * ACCOUNTS


def test_a_table_without_a_key_is_read_in_its_view(bank: tuple[Database, str]) -> None:
    server, shop = bank
    server.execute(f"ALTER TABLE {shop}.owed DROP PRIMARY KEY, ADD KEY (id)")
    copy = Cut(server, shop, connections=2, **SLOW)
    copy.run()
    assert len(copy.last_snapshot()) == 3 * ACCOUNTS and copy.progress.cuts == 1


def test_reload_is_missing(bank: tuple[Database, str]) -> None:
    server, shop = bank
    copy = Cut(server, shop)
    server.execute(f"REVOKE RELOAD ON *.* FROM {USER}@'%'")
    findings = snapshot_checks.check(parse_task(copy.data))
    with pytest.raises(SourceError) as caught:
        copy.run()
    server.execute(str(caught.value.fix).partition(";")[0])
    granted = snapshot_checks.check(parse_task(copy.data))
    copy.run()
    assert caught.value.code == "E2104" and "GRANT RELOAD ON *.* TO" in str(caught.value.fix)
    found = {finding.id: finding for finding in findings}["source.snapshot_consistent"]
    assert found.severity == "fail" and "E2104" in found.found and "RELOAD" in found.wanted
    assert "fail" not in {finding.severity for finding in granted}
    assert copy.progress.cuts == 1 and len(copy.last_snapshot()) == 3 * ACCOUNTS


@pytest.mark.timeout(180)
def test_a_lock_that_is_not_granted_in_time_does_not_stop_the_writers(bank: tuple[Database, str]) -> None:
    """A statement that runs for long is in the way of the lock. Writers behind the lock wait for some seconds."""
    server, shop = bank
    copy, longest = Cut(server, shop), 0.0
    running = threading.Thread(target=_long_statement, args=(server, shop))
    copying = threading.Thread(target=copy.run)
    running.start()
    time.sleep(0.5)
    copying.start()
    while running.is_alive():
        begun = time.monotonic()
        server.execute(f"UPDATE {shop}.paid SET balance = balance + 1 WHERE id = 1")
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.02)
    copying.join()
    assert "E2224" in copy.seen.codes and set(copy.seen.codes) == {"E2224"}
    error = next(error for error in copy.seen.errors)
    assert error.transient and "SHOW PROCESSLIST" in str(error.fix)
    assert longest < 8, "writers wait no longer than the lock is waited for"
    assert copy.progress.cuts == 1 and len(copy.last_snapshot()) == 3 * ACCOUNTS


def _long_statement(server: Database, shop: str) -> None:
    connection = server.connect(autocommit=True)
    with connection, connection.cursor() as cursor:
        if isinstance(server, MariaDB):  # which does not wait for statements that only read
            cursor.execute(f"UPDATE {shop}.owed SET balance = balance + SLEEP(9) WHERE id = 1")
        else:
            cursor.execute(f"SELECT SLEEP(9) FROM {shop}.owed WHERE id = 1")


def test_a_table_of_another_engine_is_refused(bank: tuple[Database, str]) -> None:
    server, shop = bank
    server.execute(f"CREATE TABLE {shop}.log (id INT PRIMARY KEY) ENGINE = MyISAM")
    copy = Cut(server, shop)
    with pytest.raises(SourceError) as caught:
        copy.run()
    assert (caught.value.code, caught.value.found) == ("E2226", f"{shop}.log (MyISAM)")
    found = {finding.id: finding for finding in snapshot_checks.check(parse_task(copy.data))}
    assert found["source.snapshot_consistent"].severity == "fail"


def test_the_rows_of_a_chunk_that_is_too_long_come_in_parts(place: tuple[Database, str]) -> None:
    """The rest of a SELECT is the next chunk: its connection can't be given up, as the view would be lost with it."""
    server, shop = place
    server.execute(f"CREATE TABLE {shop}.item (id INT PRIMARY KEY, text LONGBLOB)")
    server.execute(f"INSERT INTO {shop}.item VALUES {', '.join(f'({n}, 1)' for n in range(800))}")
    server.execute(f"ANALYZE TABLE {shop}.item")
    for number in range(20, 65):  # too few for new statistics: they come as a surprise
        server.execute(f"UPDATE {shop}.item SET text = REPEAT('y', 600000) WHERE id = {number}")
    for connections in (1, 3):
        copy = Cut(server, shop, connections=connections)
        copy.run()
        assert [present(row)["id"] for _, row in copy.last_snapshot()] == list(range(800))
        assert copy.progress.cuts == 1


def test_a_filter_and_a_condition_select_rows_of_the_view(bank: tuple[Database, str]) -> None:
    server, shop = bank
    copy = Cut(server, shop, chunk_rows=100, where={f"{shop}.owed": "id % 1000 = 7"}, connections=2)
    copy.run()
    taken = copy.last_snapshot()
    assert [present(row)["id"] for table, row in taken if table == "owed"] == [7, 1007, 2007]
    assert len(taken) == 2 * ACCOUNTS + 3


def test_a_configuration_that_gives_up_the_view_continues(bank: tuple[Database, str]) -> None:
    server, shop = bank
    copy = Cut(server, shop, **SLOW)
    pipeline = copy.pipeline()
    copy.seen.progressed = lambda progress: pipeline.drain() if progress.rows > 2000 else None
    with Transfers(server, shop):
        pipeline.run()
        before = copy.progress.rows
        copy.seen.progressed = lambda progress: None
        copy.data["source"]["snapshot"]["consistent"] = False
        copy.run()
    copy.run()
    assert copy.balances() == at_source(server, shop)
    assert copy.progress.view == "" and before <= copy.progress.rows <= 3 * ACCOUNTS + 500
