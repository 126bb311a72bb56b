"""What a task retries, from the errors that its worker reports and the calls that do not return."""

from __future__ import annotations

from typing import Final

from core.protocol import Status
from replicator.codes import CODES, scope_of
from replicator.model.retrying import EFFECTS, Blocked, Retrying, Side

_NO_ANSWER: Final = {"kafka": "E3002", "mysql": "E3402", "mariadb": "E3402"}
"""By the type of the sink: the error that a call ends with unless the sink answers."""
_SIDES: Final[dict[str, Side]] = {"E2": "source", "E3": "sink"}


def side_of(code: str) -> Side:
    """What a task waits for that retries because of this error."""
    if scope_of(code) == "host":
        return "host"
    if code == "E3301":
        return "registry"
    return _SIDES.get(code[:2], "")


class Retries:
    """Not thread-safe. Times are ms since the epoch."""

    def __init__(self) -> None:
        self._sink = ""
        self._error: dict[str, str] | None = None
        self._blocked: Blocked | None = None
        self._attempts = 0
        self._since_ms = 0

    def begin(self, sink: str, *, same_term: bool) -> None:
        """A worker begins, for a sink of this type."""
        self._sink, self._blocked = sink, None
        if not same_term:
            self._over()

    def failed(self, error: dict[str, str], now_ms: int) -> None:
        self._error = error
        self._attempts += 1
        self._since_ms = self._since_ms or now_ms

    def seen(self, status: Status, now_ms: int) -> None:
        self._blocked = status.blocked
        if status.flowing:
            self._over()
        elif status.blocked is not None:
            self._since_ms = self._since_ms or now_ms - int(status.blocked.seconds * 1000)
        elif self._error is None:
            self._since_ms = 0

    def _over(self) -> None:
        self._error = self._blocked = None
        self._attempts = self._since_ms = 0

    def present(self, now_ms: int) -> Retrying | None:
        """None: nothing is retried."""
        error = self._error or self._of_blocked()
        if error is None:
            return None
        side = side_of(error.get("code", "")) if self._error or self._blocked is None else self._blocked.side
        return Retrying(
            side=side,
            code=error.get("code", ""),
            what=error.get("what", ""),
            found=error.get("found", ""),
            fix=error.get("fix", ""),
            since_ms=self._since_ms,
            seconds=round(max(0, now_ms - self._since_ms) / 1000, 1),
            attempts=self._attempts,
            effect=EFFECTS[side],
        )

    def _of_blocked(self) -> dict[str, str] | None:
        blocked = self._blocked
        if blocked is None:
            return None
        code = "E2001" if blocked.side == "source" else _NO_ANSWER.get(self._sink, "")
        fix = CODES[code].remedy if code else ""
        return {"code": code, "what": f"the {blocked.side} does not answer", "found": "no answer yet", "fix": fix}
