"""Snapshots that operators order of a running task, on real servers."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from dev.servers.database import Database
from replicator.errors import SourceError
from replicator.model.quarantine import Orders
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, pause, start, stop
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


def test_a_running_task_is_told_to_read_tables(place: tuple[Database, str]) -> None:
    """One after the other, each once, although its configuration has no snapshot."""
    server, shop = place
    fill(server, f"{shop}.item", 1200)
    fill(server, f"{shop}.other", 30)
    copy = Ordered(server, "copy", [f"{shop}.*"], mode="never")
    copy.run()
    server.execute(f"INSERT INTO {shop}.item VALUES (1200, 1, 'behind')")
    first = start(SnapshotOrders(), None, [f"{shop}.item"], "id < 1000", 100, 5)
    both = Orders(snapshots=start(first, None, [f"{shop}.other"], "", 0, 6))
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
    third = Orders(snapshots=start(both.snapshots, copy.progress, [f"{shop}.other"], "", 0, 7))
    copy.run(orders=third)
    assert copy.copied("other").operations == ["r"] * 60


def test_a_snapshot_is_paused_and_goes_on_and_another_one_is_stopped(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 5000)
    copy = Ordered(server, "copy", [f"{shop}.*"], chunk_rows=200, max_rows_per_s=4000)
    copy.run_for(30, rows=400)
    paused = Orders(snapshots=pause(SnapshotOrders(), paused=True))
    done = copy.progress.rows
    assert 0 < done < 5000
    server.execute(f"UPDATE {shop}.item SET text = 'meanwhile' WHERE id = 4999")
    copy.run_for(20, rows=1, orders=paused)
    copy.run_for(1, orders=paused)
    assert (copy.progress.rows, copy.progress.ended_ms) == (done, 0)
    assert copy.copied("item").rows[4999]["text"] == "meanwhile", "the stream goes on"
    copy.run(orders=Orders())
    assert copy.copied("item").rows == contents(server, f"{shop}.item")
    assert len([op for op in copy.copied("item").operations if op == "r"]) in (4999, 5000)

    order = start(SnapshotOrders(), copy.progress, [f"{shop}.item"], "", 0, 5)
    copy.run_for(30, rows=400, orders=Orders(snapshots=order))
    assert copy.progress.id == "order-1" and not copy.progress.ended_ms
    over = Orders(snapshots=stop(order, copy.progress))
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
        copy.run(orders=Orders(snapshots=order))
    assert not error.value.transient, error.value
    server.execute(f"INSERT INTO {shop}.item VALUES (10, 1, 'behind')")
    copy.run(orders=Orders(snapshots=stop(order, copy.progress)))
    assert copy.progress.stopped and copy.copied("item").operations == ["c"]
