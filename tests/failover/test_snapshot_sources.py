"""The source itself changes while a chunk is between its marks: another server, a log that is reset or purged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from dev.cluster import wait_for
from dev.faults.proxy import Proxy
from dev.servers.database import Database
from dev.servers.replication import await_caught_up, follow, make_read_only, promote
from replicator.errors import SourceError
from replicator.model.quarantine import TaskOrders
from replicator.model.snapshot_orders import SnapshotOrders, pause
from replicator.source.mysql.snapshot import views
from tests.support.binlogs import purge_all_but_last
from tests.support.changes import contents, fill
from tests.support.held_snapshot import HeldCopy, Step

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]
MakeServer = Callable[..., Database]
ROWS = 60


@pytest.fixture(params=["mysql", "mariadb"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeServer]:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    create = request.getfixturevalue(f"make_{request.param}")
    extra = ["--log-slave-updates"] if request.param == "mariadb" else []
    yield lambda **options: create(extra_args=extra, **options)


def group(make: MakeServer) -> tuple[Database, Database]:
    """A primary with 60 rows and its replica, whose files have lower numbers."""
    primary, replica = make(), make()
    for _ in range(4):
        primary.execute("FLUSH BINARY LOGS")
    follow(replica, primary)
    primary.execute("CREATE DATABASE shop")
    fill(primary, "shop.item", ROWS)
    primary.execute("CREATE TABLE shop.mark (id INT PRIMARY KEY, text VARCHAR(20))")
    await_caught_up(replica, primary)
    return primary, replica


def hand_over(primary: Database, replica: Database) -> None:
    """With changes of rows that are delivered, of those at hand, and of those to come."""
    change(primary, 1)
    make_read_only(primary)
    await_caught_up(replica, primary)
    promote(replica)


def change(server: Database, version: int) -> None:
    server.execute(f"UPDATE shop.item SET version = {version} WHERE id % 10 = {version}")
    server.execute(f"UPDATE shop.item SET id = {100 + version}, version = {version} WHERE id = {10 + version + 2}")
    server.execute(f"DELETE FROM shop.item WHERE id % 10 = {5 + version}")


@pytest.mark.parametrize(
    ("step", "by_address"), [("before the SELECT", True), ("before high", False)], ids=["one address", "hosts, idle"]
)
def test_72_the_source_fails_over_between_the_marks(make: MakeServer, step: Step, *, by_address: bool) -> None:
    """To a server with lower file numbers: nothing of the chunk is delivered that the former server gave. While nothing
    is written to the new one, the position names a file of the former server."""
    primary, replica = group(make)
    assert primary.end_of_log()[0] > replica.end_of_log()[0]
    with Proxy(primary.port) as proxy:
        copy = HeldCopy(primary, proxy, ["shop.*"], chunk_rows=10, tables=["*.item"])
        if not by_address:
            del copy.data["source"]["port"]
            copy.data["source"]["hosts"] = [proxy.address, replica.address]

        def ended() -> bool:
            return bool(copy.progress.ended_ms) and copy.copied("item").rows == contents(replica, "shop.item")

        with copy.stopped(until=ended) as gate, gate.at(step):
            hand_over(primary, replica)
            if by_address:
                change(replica, 2)
                proxy.target = replica.port
                proxy.reset()
            primary.kill()
    copied = copy.copied("item")
    assert copied.rows == contents(replica, "shop.item")
    assert copied.backwards == [] and len(copied.read) == len(set(copied.read)) and copy.progress.ended_ms
    assert {error.code for error in copy.observer.waits} <= {"E2001", "E2002"}, copy.observer.waits


@pytest.fixture
def stopped_copy(make: MakeServer) -> Iterator[tuple[Database, HeldCopy]]:
    server = make()
    server.execute("CREATE DATABASE shop")
    fill(server, "shop.item", ROWS)
    server.execute("CREATE TABLE shop.mark (id INT PRIMARY KEY, text VARCHAR(20))")
    with Proxy(server.port) as proxy:
        yield server, HeldCopy(server, proxy, ["shop.*"], chunk_rows=10, tables=["*.item"])


@pytest.mark.parametrize("step", ["before the view", "before high"])
def test_73_the_log_is_reset_between_the_marks(
    stopped_copy: tuple[Database, HeldCopy], step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream can't reach the end of the log that comes now: the task stops with a reason, and does not wait. The
    server itself would say nothing: it goes on sending the file that it has deleted."""
    monkeypatch.setattr(views, "_WAIT_S", 2.0)
    server, copy = stopped_copy
    errors: list[BaseException] = []
    with copy.failing(errors, until=lambda: False) as gate, gate.at(step):
        server.execute("RESET MASTER" if server.release.flavour == "mariadb" else "RESET BINARY LOGS AND GTIDS")
        server.execute("UPDATE shop.item SET version = 1 WHERE id < 20")
    assert [error.code for error in copy.observer.waits] == ["E2002"]
    assert isinstance(errors[0], SourceError) and errors[0].code in ("E2206", "E2218"), errors
    assert not copy.progress.ended_ms


def test_73_the_log_is_purged_before_a_chunk_has_its_place(stopped_copy: tuple[Database, HeldCopy]) -> None:
    """What the stream lacks up to the chunk's end is gone: the chunk is not delivered, and the task stops."""
    server, copy = stopped_copy
    errors: list[BaseException] = []
    with copy.failing(errors, until=lambda: False) as gate, gate.at("before its place", "shop.mark"):
        copy.proxy.refuse()
        server.execute("FLUSH BINARY LOGS")
        wait_for(lambda: purged(server), "the server to remove its first file", 20)
        copy.proxy.pass_()
    assert isinstance(errors[0], SourceError) and errors[0].code == "E2206", errors
    assert copy.copied("item").read == list(range(10)) and copy.progress.rows == 10


def purged(server: Database) -> bool:
    """Only its last file is left: none that somebody reads, or that its engine needs, is removed."""
    server.execute(f"PURGE BINARY LOGS TO '{server.end_of_log()[0]}'")
    return len(server.execute("SHOW BINARY LOGS")) == 1


@pytest.mark.parametrize("mode", ["initial", "when_needed"])
def test_78_a_task_that_rests_in_the_middle_of_a_snapshot_for_longer_than_retention(
    stopped_copy: tuple[Database, HeldCopy], mode: str
) -> None:
    """`initial` stops and names the remedy; `when_needed` delivers all rows again."""
    server, copy = stopped_copy
    copy.data["source"]["snapshot"]["mode"] = mode
    rest(copy)
    part = copy.progress.rows
    assert 0 < part < ROWS
    server.execute("UPDATE shop.item SET version = 1 WHERE id < 50")
    purge_all_but_last(server)
    if mode == "initial":
        with pytest.raises(SourceError, match="E2206") as error:
            copy.run()
        assert "when_needed" in error.value.fix and copy.progress.rows == part
        return
    copy.run()
    copied = copy.copied("item")
    assert copied.rows == contents(server, "shop.item") and copied.backwards == []
    assert sorted(copied.read[part:]) == list(range(ROWS)), "once each, from the beginning"


def test_78_a_snapshot_that_is_paused_for_longer_than_retention(stopped_copy: tuple[Database, HeldCopy]) -> None:
    """The stream goes on meanwhile, so what is purged is not missed: it continues behind its last row."""
    server, copy = stopped_copy
    rest(copy)
    part = copy.progress.rows
    paused = TaskOrders(snapshots=pause(SnapshotOrders(), paused=True))
    server.execute("UPDATE shop.item SET version = 1 WHERE id < 50")
    pipeline = copy.pipeline(orders=paused)
    thread = threading.Thread(target=pipeline.run)
    thread.start()
    wait_for(lambda: copy.copied("item").operations.count("u") >= 50, "the changes", 30)
    pipeline.drain()
    thread.join(30)
    assert copy.progress.rows == part
    purge_all_but_last(server)
    copy.run()
    copied = copy.copied("item")
    assert copied.rows == contents(server, "shop.item") and copied.backwards == []
    assert copied.read == list(range(ROWS)), "once each"


def rest(copy: HeldCopy) -> None:
    """Reads two chunks at least, and stops."""
    pipeline = copy.pipeline()
    thread = threading.Thread(target=pipeline.run)
    gate = copy.gate()
    thread.start()
    for _ in range(2):
        with gate.at("before COMMIT"):
            pass
    wait_for(lambda: copy.copied("item").read, "rows", 20)
    pipeline.drain()
    gate.close()
    thread.join(30)
    assert not thread.is_alive()
