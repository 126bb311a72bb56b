"""Whether the routes of a Monitor work: counts, the last error, and the pause after it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

import msgspec

from monitor.alerts.shown import RouteView
from replicator.alerts.route import Route, shown_address
from replicator.errors import ReplicatorError

_FIRST_PAUSE_MS: Final = 5_000
_LONGEST_PAUSE_MS: Final = 300_000


class _State(msgspec.Struct):
    sent: int = 0
    failed: int = 0
    last_ms: int = 0
    failing_ms: int = 0
    in_a_row: int = 0
    next_ms: int = 0
    problem: str = ""


class RouteStates:
    """Thread-safe. By name of the route; counts last as long as the Monitor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, _State] = {}

    def may_try(self, route: str, now_ms: int) -> bool:
        with self._lock:
            return now_ms >= self._of(route).next_ms

    def succeeded(self, route: str, now_ms: int) -> None:
        with self._lock:
            state = self._of(route)
            state.sent += 1
            state.last_ms = now_ms
            state.failing_ms = state.in_a_row = state.next_ms = 0
            state.problem = ""

    def failed(self, route: str, now_ms: int, error: ReplicatorError) -> bool:
        """Returns whether it is the first failure in a row."""
        with self._lock:
            state = self._of(route)
            first = not state.failing_ms
            state.failed += 1
            state.problem = f"{error.what}: {error.found}"
            state.failing_ms = state.failing_ms or now_ms
            state.next_ms = now_ms + min(_FIRST_PAUSE_MS << min(state.in_a_row, 10), _LONGEST_PAUSE_MS)
            state.in_a_row += 1
            return first

    def forget_failures(self) -> None:
        """Of routes that were read again, or that another Monitor tries from now on."""
        with self._lock:
            for state in self._states.values():
                state.failing_ms = state.in_a_row = state.next_ms = 0
                state.problem = ""

    def views(self, routes: Sequence[Route]) -> tuple[RouteView, ...]:
        with self._lock:
            return tuple(self._view(route) for route in routes)

    def _view(self, route: Route) -> RouteView:
        state = self._of(route.name)
        return RouteView(
            name=route.name,
            kind=route.kind,
            to=shown_address(route),
            sent=state.sent,
            failed=state.failed,
            last_ms=state.last_ms,
            problem=state.problem,
            failing_ms=state.failing_ms,
        )

    def _of(self, route: str) -> _State:
        return self._states.setdefault(route, _State())
