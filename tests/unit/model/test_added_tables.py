"""Snapshots of tables that a changed configuration adds: none is left out, however many changes come in a row."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replicator.errors import ConfigError
from replicator.model.added_tables import MOST_CHOICES, add, later, visible, withdraw
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, TableChoice, start, stop, taken_up, waiting

NONE = SnapshotOrders()
DONE = SnapshotProgress("initial", 1, ended_ms=9)
OLD = TableChoice(("shop.*", "!shop.old"))
OLDER = TableChoice(("shop.item",))


def added(
    orders: SnapshotOrders = NONE,
    progress: SnapshotProgress | None = DONE,
    known: TableChoice = OLD,
    version: int = 4,
    begun: bool = True,
) -> SnapshotOrders:
    return add(orders, progress, ["shop.old"], known, version, 5, begun=begun)


def test_it_waits_for_its_turn_and_says_why() -> None:
    orders = added()
    (request,) = orders.requests
    assert (request.number, request.version, request.tables, request.known) == (1, 4, ("shop.old",), (OLD,))
    running = replace(DONE, ended_ms=0)
    assert waiting(orders, running) == (request,)
    begun = taken_up(Position("b.1", 4, snapshot=DONE), orders, 7, initial=True).snapshot
    assert begun is not None and (begun.id, begun.version) == ("order-1", 4)


def test_changes_in_a_row_are_one_snapshot_until_it_begins() -> None:
    """A table that the second one removes and a third one adds again is read: it was not in each of them."""
    both = added(added(known=OLDER, version=3))
    (request,) = both.requests
    assert (request.number, request.version, request.known) == (2, 4, (OLDER, OLD))
    third = added(both, SnapshotProgress("order-2", 1), version=5)
    assert [one.known for one in third.requests] == [(OLDER, OLD), (OLD,)], "the first has begun"
    assert [one.version for one in added(start(NONE, DONE, ["shop.a"], "", 0, 1)).requests] == [0, 4]


def test_one_that_was_joined_while_it_began_ends() -> None:
    joined = added(added(known=OLDER, version=3))
    position = Position("b.1", 4, snapshot=SnapshotProgress("order-1", 1, version=3))
    taken = taken_up(position, joined, 9, initial=True).snapshot
    assert taken is not None and (taken.id, taken.ended_ms) == ("order-2", 0)


def test_too_many_choices_are_refused_or_all_tables_are_new() -> None:
    orders = fresh = NONE
    for number in range(MOST_CHOICES):
        orders = added(orders, known=TableChoice((f"shop.t{number}",)))
        fresh = added(fresh, None, TableChoice((f"shop.t{number}",)), begun=False)
    assert added(orders, known=TableChoice(("shop.t0",))).requests[0].known == orders.requests[0].known
    with pytest.raises(ConfigError, match="too many"):
        added(orders)
    with pytest.raises(ConfigError, match="too many"):
        added(orders, None)
    (request,) = added(fresh, None, begun=False).requests
    assert request.known == (TableChoice(("!*.*",)),)


def test_a_worker_of_the_former_configuration_does_not_see_it() -> None:
    orders = start(added(version=4), DONE, ["shop.a"], "", 0, 1)
    assert visible(orders, 4) is orders
    early = visible(orders, 3)
    assert (early.requests, early.last) == ((), 0), "nor what is behind it, as the last number says what is done"
    assert visible(start(NONE, DONE, ["shop.a"], "", 0, 1), 0).requests


def test_a_table_is_left_to_the_last_one_that_reads_it() -> None:
    orders = added(added(version=3), SnapshotProgress("order-1", 1))
    first, second = orders.requests
    assert later(orders, replace(DONE, ended_ms=0)) == (first, second)
    assert later(orders, SnapshotProgress("order-1", 1)) == (second,)
    assert later(orders, SnapshotProgress("initial", 1, after=2)) == ()


def test_the_configuration_may_withdraw_it() -> None:
    ordered = start(NONE, DONE, ["shop.a"], "", 0, 1)
    assert withdraw(added(ordered)).requests == ordered.requests
    assert withdraw(ordered) is ordered
    position = Position("b.1", 4, snapshot=SnapshotProgress("order-1", 1, version=4))
    ended = taken_up(position, withdraw(added()), 9, initial=False).snapshot
    assert ended is not None and ended.stopped
    assert stop(added(), DONE).requests == ()
