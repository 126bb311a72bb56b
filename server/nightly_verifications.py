"""The duty of ordering the nightly verifications of the tasks that want them."""

from __future__ import annotations

import calendar
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.overview import TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.duties import Proceed, today
from replicator.coordination.tasks.verify_orders import VerifyOrders
from replicator.model.nightly import Candidate, order_for, wanted
from replicator.telemetry.log import get_logger

PACE_MS: Final = 5_000
"""From the beginning of one task to that of the next: a thousand tasks begin in 83 minutes. Besides, each Core does one
after the other."""
_log = get_logger("server")


class NightlyVerifications:
    """
    Args:
        tasks: all of them, as they are now.
        host: name of this Server.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        tasks: Callable[[], Sequence[TaskOverview]],
        host: str,
        date: Callable[[], str] = today,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._orders = VerifyOrders(coordinator, layout)
        self._tasks, self._host = tasks, host
        self._date, self._clock_ms = date, clock_ms

    def order(self, proceed: Proceed) -> None:
        """A duty. What a Server before us has ordered for this date stays as it is. Raises NotConnected."""
        date, ordered = self._date(), 0
        midnight_ms = calendar.timegm(time.strptime(date, "%Y-%m-%d")) * 1000
        for task in self._tasks():
            if not wanted(task.config):
                continue
            if not proceed():
                return
            kept = self._orders.read(task.name)
            seen = Candidate(uid=task.uid, config=task.config, desired=task.desired, state=task.state)
            order = order_for(seen, kept.order, date, midnight_ms, self._clock_ms())
            if order is None:
                continue
            if order.stage == "ordered":
                spread = order.not_before_ms + ordered * PACE_MS
                order = msgspec.structs.replace(order, not_before_ms=spread)
                ordered += 1
            written = self._orders.write(task.name, msgspec.structs.replace(order, by=self._host), kept.version)
            if written and order.stage == "skipped":
                _log.warning("a nightly verification is left out", task=task.name, reason=order.note)
