"""Whether servers that hang up on us will ever let us in again."""

from __future__ import annotations

import time
from collections.abc import Callable

from kazoo.exceptions import SessionExpiredError


class Entry:
    """What it means that servers hang up on us instead of answering.

    They do so while they have no quorum, and when they know less than we have seen: one that lags, or all of them, as
    their data are gone or were restored. kazoo tries the same for ever. So after a session timeout every other attempt
    asks as somebody who has no session and has seen nothing. When such a one is let in again and again and we are not,
    what we saw is no more, and our session with it.

    Args:
        patience: seconds.
        hosts: how many there are.
    """

    def __init__(self, patience: float, hosts: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._hosts = hosts
        self._clock = clock
        self._session = False
        self._since: float | None = None
        self._others = False  # who comes without a session is let in
        self._barred = 0

    def as_stranger(self) -> bool:
        """Whether the next attempt is to ask without a session."""
        waited = self._since is not None and self._clock() - self._since > self._patience
        return waited and self._session and not self._others

    def let_in(self) -> None:
        """An attempt without a session was answered."""
        self._others = True

    def answered(self, session: bool) -> None:
        """An attempt of ours was answered; `session`: we have one now."""
        self._session = session
        self._since, self._others, self._barred = None, False, 0

    def refused(self) -> None:
        """At an attempt of ours the server hung up. Raises SessionExpiredError when there is no way back."""
        if self._since is None:
            self._since = self._clock()
        self._barred = self._barred + 1 if self._others else 0
        self._others = False
        if self._barred > 2 * self._hosts:
            self._since, self._barred, self._session = None, 0, False
            raise SessionExpiredError("the servers are behind the last transaction that this client has seen")
