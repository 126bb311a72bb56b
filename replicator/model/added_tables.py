"""Snapshots of tables that a changed configuration adds: computes the next orders. Pure.

Which tables of the source are new is not known where a configuration is applied, as their patterns may have wildcards.
So the request has the choice of tables that the task had before, and a worker compares the names with it. Requests
that have not begun are joined: a table is read unless each of the earlier choices had it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.errors import ConfigError
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import (
    MOST,
    SnapshotOrders,
    SnapshotRequest,
    TableChoice,
    is_open,
    number_of,
    waiting,
)

MOST_CHOICES: Final = 8
MOST_SHOWN: Final = 20
"""Patterns that a request shows of those that were added."""
_MOST_BYTES: Final = 400_000
"""Of choices in one request; a configuration may have 256 KB of patterns, all orders have to fit into a znode."""
_NOTHING: Final = TableChoice(("!*.*",))


def add(
    orders: SnapshotOrders,
    progress: SnapshotProgress | None,
    added: Sequence[str],
    known: TableChoice,
    version: int,
    now_ms: int,
    *,
    begun: bool,
) -> SnapshotOrders:
    """One request more, or the last one extended if it has not begun.

    Args:
        progress: of the task.
        added: patterns, for people.
        known: what the configuration chose before.
        version: of the configuration that adds the tables; 1 or more.
        begun: the task has a position. One that has none begins with all tables of its configuration.

    Raises ConfigError E1003: too many snapshots wait.
    """
    requests = list(waiting(orders, progress))
    choices: tuple[TableChoice, ...] = ()
    if requests and requests[-1].version and not (is_open(progress) and number_of(progress) == requests[-1].number):
        last = requests.pop()
        choices, added = last.known, [*last.tables, *(pattern for pattern in added if pattern not in last.tables)]
    choices = _bounded(tuple(dict.fromkeys((*choices, known))), begun=begun)
    if len(requests) >= MOST:
        raise _too_many(f"{len(requests)} snapshots")
    number = max(orders.last, number_of(progress), 0) + 1
    request = SnapshotRequest(number, tuple(added[:MOST_SHOWN]), asked_ms=now_ms, version=version, known=choices)
    return msgspec.structs.replace(orders, requests=(*requests, request), last=number)


def withdraw(orders: SnapshotOrders) -> SnapshotOrders:
    """Without snapshots of added tables: the configuration does not want them any more."""
    kept = tuple(request for request in orders.requests if not request.version)
    return orders if kept == orders.requests else msgspec.structs.replace(orders, requests=kept)


def visible(orders: SnapshotOrders, version: int) -> SnapshotOrders:
    """Those for a worker of a configuration. Under an earlier one than the request's its tables are not replicated yet:
    the snapshot would end without them."""
    hidden = [request.number for request in orders.requests if request.version > version]
    if not hidden:
        return orders
    first = min(hidden)
    kept = tuple(request for request in orders.requests if request.number < first)
    return msgspec.structs.replace(orders, requests=kept, last=first - 1)


def later(orders: SnapshotOrders, progress: SnapshotProgress) -> tuple[SnapshotRequest, ...]:
    """Snapshots of added tables that come behind the one at hand: they read their tables, which were not replicated for
    some time, from the beginning."""
    return tuple(request for request in orders.requests if request.version and request.number > number_of(progress))


def _bounded(choices: tuple[TableChoice, ...], *, begun: bool) -> tuple[TableChoice, ...]:
    size = sum(len(pattern.encode()) for choice in choices for pattern in (*choice.tables, *choice.snapshot))
    if len(choices) <= MOST_CHOICES and size <= _MOST_BYTES:
        return choices
    if not begun:  # more than needed: if the task has begun meanwhile, all tables are read once more
        return (_NOTHING,)
    raise _too_many(f"{len(choices)} changed choices of tables")


def _too_many(found: str) -> ConfigError:
    return ConfigError(
        "E1003",
        "too many snapshots of added tables are waiting",
        found=found,
        wanted=f"at most {MOST} snapshots, and {MOST_CHOICES} choices of tables in one of them",
        fix="Wait until the task has begun them, end them by `replicator task snapshot stop`, or set "
        "`source.snapshot.new_tables: false`.",
    )
