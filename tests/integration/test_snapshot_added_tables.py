"""Tables that a changed configuration adds to a task, on real servers: each of their rows comes once."""

from __future__ import annotations

from typing import Any

import pytest

from dev.servers.database import Database
from replicator.config.load import parse_task
from replicator.config.table_choice import added, choice_of
from replicator.model.added_tables import add
from replicator.model.quarantine import TaskOrders
from replicator.model.snapshot_orders import SnapshotOrders
from tests.integration.test_snapshot_orders import Ordered
from tests.integration.test_snapshots import place
from tests.support.changes import contents, fill

__all__ = ["place"]

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


class Changed(Ordered):
    """A task whose configuration is applied again."""

    orders = SnapshotOrders()
    version = 0

    def apply(self, tables: list[str]) -> None:
        """As the Server does it."""
        known, last = choice_of(parse_task(self.data).source), self.store.load()
        self.data["source"]["tables"] = tables
        self.version += 1
        patterns = added(known, parse_task(self.data).source)
        if patterns:
            progress = last.position.snapshot if last is not None else None
            self.orders = add(self.orders, progress, patterns, known, self.version, 5, begun=last is not None)

    def go(self, **options: Any) -> None:
        self.run(orders=TaskOrders(snapshots=self.orders), **options)


def test_rows_of_an_added_table_are_delivered_once(place: tuple[Database, str]) -> None:
    """Its name comes in front of those that were read; a table that is created later has all its rows in the stream."""
    server, shop = place
    fill(server, f"{shop}.new", 300)
    fill(server, f"{shop}.old", 40)
    copy = Changed(server, "copy", [f"{shop}.*", f"!{shop}.new"])
    copy.go()
    server.execute(f"UPDATE {shop}.new SET version = 1 WHERE id < 10")
    copy.go()
    assert not list(copy.records("new"))
    copy.apply([f"{shop}.*"])
    copy.go()
    assert copy.copied("new").rows == contents(server, f"{shop}.new")
    assert copy.copied("new").operations == ["r"] * 300 and copy.copied("old").operations == ["r"] * 40
    assert (copy.progress.version, copy.progress.tables, copy.progress.stopped) == (1, 1, False)
    fill(server, f"{shop}.later", 5)
    server.execute(f"DELETE FROM {shop}.new WHERE id = 7")
    copy.go()
    assert set(copy.copied("later").operations) == {"c"} and 7 not in copy.copied("new").rows


def test_while_the_initial_one_runs(place: tuple[Database, str]) -> None:
    """Tables in front of and behind the one at hand; one that is removed and added again is read to its end."""
    server, shop = place
    rows = {"aaa": 400, "mmm": 6000, "nnn": 400, "zzz": 400}
    for name, count in rows.items():
        fill(server, f"{shop}.{name}", count)
    options = {"chunk_rows": 50, "max_rows_per_s": 2000}
    copy = Changed(server, "copy", [f"{shop}.mmm", f"{shop}.nnn"], **options)
    copy.run_for(30, rows=100)
    assert copy.progress.open is not None
    done = len(copy.copied("mmm").rows)
    assert 0 < done < 6000
    copy.apply([f"{shop}.nnn"])
    server.execute(f"UPDATE {shop}.mmm SET version = 1 WHERE id < 10")
    copy.run_for(5, rows=100, orders=TaskOrders(snapshots=copy.orders))
    copy.apply([f"{shop}.*"])
    copy.go()
    for name, count in rows.items():
        assert copy.copied(name).rows == contents(server, f"{shop}.{name}"), name
        assert copy.copied(name).operations.count("r") == count + (done if name == "mmm" else 0), name
    assert (copy.progress.version, copy.progress.tables) == (2, 3)


def test_what_an_apply_adds_before_the_first_start_is_part_of_the_initial_one(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 20)
    fill(server, f"{shop}.other", 20)
    copy = Changed(server, "copy", [f"{shop}.item"])
    copy.apply([f"{shop}.*"])
    assert copy.orders.requests
    copy.go()
    assert copy.copied("item").operations == copy.copied("other").operations == ["r"] * 20
    assert (copy.progress.id, copy.progress.after) == ("initial", 1)
