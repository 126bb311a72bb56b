"""Snapshots from one moment: of a source that fails over, of MySQL without GTIDs, and after a purge."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import pymysql
import pytest

from dev.servers.database import Database, MySQL
from dev.servers.replication import await_caught_up, follow, make_read_only, promote
from replicator.model.snapshot import SnapshotProgress
from replicator.pipeline.pipeline import Pipeline
from tests.integration.test_consistent_snapshots import (
    SLOW,
    TOTAL,
    Cut,
    Transfers,
    at_source,
    fill,
    make_account,
    threads_of_views,
)
from tests.integration.test_consistent_snapshots import bank as bank
from tests.integration.test_consistent_snapshots import place as place
from tests.integration.test_consistent_snapshots import plain_place as plain_place
from tests.support.binlogs import purge_all_but_last
from tests.support.present import present

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]
MakeMySQL = Callable[..., MySQL]
NO_GTIDS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")


@pytest.fixture
def without_gtids(make_mysql: MakeMySQL, password: None) -> Iterator[tuple[MySQL, str]]:
    server = make_mysql(extra_args=NO_GTIDS)
    server.execute("CREATE DATABASE shop")
    make_account(server)
    fill(server, "shop")
    yield server, "shop"


def is_of_one_moment(copy: Cut, server: Database, shop: str) -> None:
    taken = copy.last_snapshot()
    assert sum(present(row)["balance"] for _, row in taken) == TOTAL
    keys = [(table, present(row)["id"]) for table, row in taken]
    assert len(keys) == len(set(keys)) == copy.progress.rows
    assert copy.balances() == at_source(server, shop)
    assert copy.progress.view == copy.progress.consistent_since


@pytest.mark.parametrize("connections", [1, 4])
def test_the_source_fails_over_while_its_view_is_read(make_mysql: MakeMySQL, password: None, connections: int) -> None:
    """The view is lost with its server: the successor is read from a view of its own, behind what was delivered."""
    primary, replica = make_mysql(server_id=911), make_mysql(server_id=912)
    follow(replica, primary)
    primary.execute("CREATE DATABASE shop")
    make_account(primary)
    fill(primary, "shop")
    # Rows are read ahead while `fail_over` holds the pipeline: there have to be some left.
    copy = Cut(primary, "shop", connections=connections, **SLOW | {"max_rows_per_s": 2500})
    begun, over = threading.Event(), threading.Event()
    copy.data["source"] |= {"hosts": [primary.address, replica.address], "connect_timeout_s": 2}
    del copy.data["source"]["port"]
    first = Transfers(primary, "shop")

    def fail_over(progress: SnapshotProgress) -> None:
        if progress.rows > 2000 and not begun.is_set():
            begun.set()
            first.__exit__()
            make_read_only(primary)
            await_caught_up(replica, primary)
            promote(replica)
            primary.kill()
            over.set()

    copy.seen.progressed = fail_over
    with first:
        copy_to_the_end(copy, over, lambda: Transfers(replica, "shop"))
    copy.run()
    assert over.is_set() and set(copy.seen.codes) <= {"E2002", "E2224", "E2225"} and copy.seen.codes
    assert copy.progress.cuts == 2 and copy.progress.again > 2000
    is_of_one_moment(copy, replica, "shop")


def copy_to_the_end(copy: Cut, over: threading.Event, then: Callable[[], Transfers]) -> None:
    """Until the snapshot has ended; others change the accounts of the successor meanwhile."""
    pipeline = copy.pipeline()
    run = threading.Thread(target=pipeline.run)
    run.start()
    try:
        assert over.wait(60)
        with then():
            end = time.monotonic() + 60
            while time.monotonic() < end and not copy.progress.ended_ms:
                time.sleep(0.1)
            time.sleep(0.3)  # the stream goes on behind it
    finally:
        pipeline.drain()
        run.join()


@pytest.mark.parametrize("lost", [False, True], ids=["kept", "lost"])
def test_mysql_without_gtids(without_gtids: tuple[MySQL, str], lost: bool) -> None:
    """The place of the view is file and offset alone."""
    server, shop = without_gtids
    copy, killed = Cut(server, shop, connections=4, **SLOW), threading.Event()

    def kill(progress: SnapshotProgress) -> None:
        if progress.rows > 2000 and not killed.is_set():
            killed.set()
            for thread in threads_of_views(server):
                with contextlib.suppress(pymysql.err.OperationalError):  # the connection of the lock has ended
                    server.execute(f"KILL {thread}")

    if lost:
        copy.seen.progressed = kill
    with Transfers(server, shop) as transfers:
        time.sleep(0.3)
        copy.run()
    copy.run()
    assert transfers.done > 100 and killed.is_set() == lost
    assert copy.progress.cuts == (2 if lost else 1) and copy.progress.end_gtid == ""
    is_of_one_moment(copy, server, shop)


def test_mysql_without_gtids_rotates_its_log_in_the_middle(without_gtids: tuple[MySQL, str]) -> None:
    server, shop = without_gtids
    copy, flushed = Cut(server, shop, **SLOW), threading.Event()

    def flush(progress: SnapshotProgress) -> None:
        if progress.rows > 1000 and not flushed.is_set():
            flushed.set()
            server.execute("FLUSH BINARY LOGS")

    copy.seen.progressed = flush
    with Transfers(server, shop):
        copy.run()
    copy.run()
    assert flushed.is_set() and (copy.seen.codes, copy.progress.cuts) == ([], 1)
    is_of_one_moment(copy, server, shop)


@pytest.mark.parametrize("interrupted", [False, True])
def test_when_needed_takes_a_view_too(bank: tuple[Database, str], interrupted: bool) -> None:
    """What the source has purged comes as the rows of one moment, also where its view is lost in turn."""
    server, shop = bank
    copy = Cut(server, shop, connections=2, mode="when_needed", **SLOW)
    copy.run()
    assert (copy.progress.id, copy.progress.cuts) == ("initial", 1)
    with Transfers(server, shop):
        time.sleep(0.5)
    purge_all_but_last(server)
    pipelines: list[Pipeline] = [copy.pipeline()]
    taken_again = threading.Event()

    def stop(progress: SnapshotProgress) -> None:
        if progress.reason and progress.rows > 2000 and interrupted and not taken_again.is_set():
            taken_again.set()
            pipelines[0].drain()

    copy.seen.progressed = stop
    with Transfers(server, shop):
        if interrupted:
            pipelines[0].run()
            assert taken_again.is_set() and copy.progress.cut_open and not copy.progress.ended_ms
        copy.run()
    copy.run()
    progress = copy.progress
    assert progress.id.startswith("needed-") and progress.reason and not progress.cut_open
    assert progress.cuts == (2 if interrupted else 1)
    firsts = [
        number for number, record in enumerate(copy.broker.records) if b'"snapshot":"first"' in (record.value or b"")
    ]
    del copy.broker.records[: firsts[-1]]  # consumers empty their copies there: nobody knows what was deleted before
    is_of_one_moment(copy, server, shop)
