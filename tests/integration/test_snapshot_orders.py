"""Snapshots that operators order of a running task, on real servers."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from dev.servers.database import Database
from replicator.cli.snapshot_line import line
from replicator.errors import SourceError
from replicator.model.quarantine import TaskOrders
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, pause, start, stop
from replicator.model.snapshot_report import report
from tests.integration.test_snapshots import Copy, place
from tests.support.changes import contents, fill

__all__ = ["place"]

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


class Ordered(Copy):
    def run_for(self, seconds: float, rows: int = 1 << 40, **options: Any) -> None:
        """So long, or until the sink has so many records more."""
        pipeline = self.pipeline(**options)
        wanted = len(self.broker.records) + rows
        thread = threading.Thread(target=pipeline.run)
        thread.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(self.broker.records) < wanted:
            time.sleep(0.01)
        pipeline.drain()
        thread.join(20)
        assert not thread.is_alive()

    @property
    def progress(self) -> SnapshotProgress:
        last = self.store.load()
        assert last is not None and last.position.snapshot is not None
        return last.position.snapshot


def test_a_table_that_is_renamed_while_its_snapshot_is_paused_is_read(place: tuple[Database, str]) -> None:
    """Under a name whose turn has passed."""
    server, shop = place
    fill(server, f"{shop}.item", 30)
    fill(server, f"{shop}.zoo", 5000)
    copy = Ordered(server, "copy", [f"{shop}.*"], chunk_rows=200, max_rows_per_s=4000)
    copy.run_for(30, rows=430)
    assert copy.progress.last == f"{shop}.item" and not copy.progress.ended_ms
    server.execute(f"RENAME TABLE {shop}.zoo TO {shop}.aaa")
    server.execute(f"INSERT INTO {shop}.item VALUES (90, 1, 'behind')")
    copy.run_for(20, rows=1, orders=TaskOrders(snapshots=pause(SnapshotOrders(), paused=True)))
    copy.run()
    assert copy.copied("aaa").rows == contents(server, f"{shop}.aaa")


def test_a_running_task_is_told_to_read_tables(place: tuple[Database, str]) -> None:
    """One after the other, each once, although its configuration has no snapshot."""
    server, shop = place
    fill(server, f"{shop}.item", 1200)
    fill(server, f"{shop}.other", 30)
    copy = Ordered(server, "copy", [f"{shop}.*"], mode="never")
    copy.run()
    server.execute(f"INSERT INTO {shop}.item VALUES (1200, 1, 'behind')")
    first = start(SnapshotOrders(), None, [f"{shop}.item"], "id < 1000", 100, 5)
    both = TaskOrders(snapshots=start(first, None, [f"{shop}.other"], "", 0, 6))
    copy.run(orders=both)
    assert sorted(copy.copied("item").rows) == [*range(1000), 1200]
    assert (
        sorted(copy.copied("item").operations) == ["c", *["r"] * 1000] and copy.copied("other").operations == ["r"] * 30
    )
    read = [json.loads(record.value or b"")["source"]["snapshot"] for record in copy.records("other")]
    assert set(read) == {"incremental"}
    assert (copy.progress.id, copy.progress.rows, copy.progress.stopped) == ("order-2", 30, False)
    before = len(copy.broker.records)
    copy.run(orders=both)
    copy.run()
    assert len(copy.broker.records) == before
    third = TaskOrders(snapshots=start(both.snapshots, copy.progress, [f"{shop}.other"], "", 0, 7))
    copy.run(orders=third)
    assert copy.copied("other").operations == ["r"] * 60


def test_a_snapshot_is_paused_and_goes_on_and_another_one_is_stopped(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 5000)
    copy = Ordered(server, "copy", [f"{shop}.*"], chunk_rows=200, max_rows_per_s=4000)
    copy.run_for(30, rows=400)
    paused = TaskOrders(snapshots=pause(SnapshotOrders(), paused=True))
    done = copy.progress.rows
    assert 0 < done < 5000
    server.execute(f"UPDATE {shop}.item SET text = 'meanwhile' WHERE id = 4999")
    copy.run_for(20, rows=1, orders=paused)
    copy.run_for(1, orders=paused)
    assert (copy.progress.rows, copy.progress.ended_ms) == (done, 0)
    assert copy.copied("item").rows[4999]["text"] == "meanwhile", "the stream goes on"
    copy.run(orders=TaskOrders())
    assert copy.copied("item").rows == contents(server, f"{shop}.item")
    assert len([op for op in copy.copied("item").operations if op == "r"]) in (4999, 5000)

    order = start(SnapshotOrders(), copy.progress, [f"{shop}.item"], "", 0, 5)
    copy.run_for(30, rows=400, orders=TaskOrders(snapshots=order))
    assert copy.progress.id == "order-1" and not copy.progress.ended_ms
    over = TaskOrders(snapshots=stop(order, copy.progress))
    copy.run(orders=over)
    assert copy.progress.stopped and 0 < copy.progress.rows < 5000
    before = len(copy.broker.records)
    copy.run(orders=over)
    assert len(copy.broker.records) == before


@pytest.mark.parametrize("condition", ["strange > 5", "id >"])
def test_a_condition_that_the_server_refuses_stops_the_task(place: tuple[Database, str], condition: str) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 10)
    copy = Ordered(server, "copy", [f"{shop}.*"], mode="never")
    copy.run()
    order = start(SnapshotOrders(), None, [f"{shop}.item"], condition, 0, 5)
    with pytest.raises(SourceError) as error:
        copy.run(orders=TaskOrders(snapshots=order))
    assert not error.value.transient, error.value
    server.execute(f"INSERT INTO {shop}.item VALUES (10, 1, 'behind')")
    copy.run(orders=TaskOrders(snapshots=stop(order, copy.progress)))
    assert copy.progress.stopped and copy.copied("item").operations == ["c"]


Place = tuple[Database, str]


def waiting_orders(copy: Ordered, shop: str, *tables: str, where: str = "") -> TaskOrders:
    """An order that waits for one of `shop`.item, of which a part is delivered."""
    first = start(SnapshotOrders(), None, [f"{shop}.item"], "", 100, 5)
    orders = TaskOrders(snapshots=start(first, None, [f"{shop}.{table}" for table in tables], where, 0, 6))
    copy.run_for(30, rows=300, orders=orders)
    assert copy.progress.id == "order-1" and not copy.progress.ended_ms
    return orders


@pytest.fixture(params=[1, 4], ids=["one connection", "four connections"])
def ordered(place: Place, request: pytest.FixtureRequest) -> Ordered:
    server, shop = place
    fill(server, f"{shop}.item", 3000)
    fill(server, f"{shop}.old", 400)
    options = {"chunk_rows": 100, "max_rows_per_s": 1500, "connections": request.param}
    return Ordered(server, "copy", [f"{shop}.*"], mode="never", **options)


@pytest.mark.parametrize("new", ["aaa", "zzz"])
def test_a_table_that_is_renamed_while_its_order_waits_is_read(ordered: Ordered, place: Place, new: str) -> None:
    server, shop = place
    ordered.run()
    orders = waiting_orders(ordered, shop, "old", where="id >= 100")
    server.execute(f"RENAME TABLE {shop}.old TO {shop}.between")
    server.execute(f"RENAME TABLE {shop}.between TO {shop}.{new}")
    ordered.run(orders=orders)
    ordered.run(orders=orders)
    assert sorted(ordered.copied(new).read) == list(range(100, 400)), "and the condition is the one of the order"
    progress = ordered.progress
    assert (progress.id, progress.rows, progress.absent) == ("order-2", 300, ()) and progress.ended_ms


@pytest.mark.parametrize("new", ["aaa", "zzz"])
def test_a_table_that_is_renamed_while_others_of_its_order_are_read(ordered: Ordered, place: Place, new: str) -> None:
    server, shop = place
    ordered.run()
    first = start(SnapshotOrders(), None, [f"{shop}.item", f"{shop}.old"], "", 100, 5)
    orders = TaskOrders(snapshots=first)
    ordered.run_for(30, rows=300, orders=orders)
    server.execute(f"RENAME TABLE {shop}.old TO {shop}.{new}")
    ordered.run(orders=orders)
    assert ordered.copied(new).read == list(range(400)) and ordered.copied("item").read == list(range(3000))
    assert (ordered.progress.rows, ordered.progress.absent) == (3400, ())


def test_an_ordered_table_whose_name_another_one_takes_is_read_under_it(ordered: Ordered, place: Place) -> None:
    """As an online schema change does it: the order is of the name, as long as there is a table of it."""
    server, shop = place
    ordered.run()
    orders = waiting_orders(ordered, shop, "old")
    server.execute(f"CREATE TABLE {shop}.new LIKE {shop}.old")
    server.execute(f"INSERT INTO {shop}.new SELECT id + 1000, version, text FROM {shop}.old")
    server.execute(f"RENAME TABLE {shop}.old TO {shop}.gone, {shop}.new TO {shop}.old")
    ordered.run(orders=orders)
    assert ordered.copied("old").read == list(range(1000, 1400)) and not ordered.copied("gone").read


def test_an_ordered_table_that_is_dropped_is_named(ordered: Ordered, place: Place) -> None:
    server, shop = place
    fill(server, f"{shop}.other", 20)
    ordered.run()
    orders = waiting_orders(ordered, shop, "old", "other")
    server.execute(f"DROP TABLE {shop}.old")
    ordered.run(orders=orders)
    assert ordered.copied("other").read == list(range(20))
    progress = ordered.progress
    assert (progress.id, progress.absent) == ("order-2", (f"{shop}.old",)) and progress.ended_ms
    shown = report(progress, progress.ended_ms)
    assert f"no such table: {shop}.old" in line(shown)
