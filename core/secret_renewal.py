"""What a worker does when a login is refused: the secret may have been replaced since it was read."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from replicator.config import secrets
from replicator.errors import ReplicatorError

LOGINS: Final = frozenset({"E2101", "E3103", "E3304", "E3403"})
"""Refused by the source, Kafka, the schema registry, the target."""
SECONDS: Final = 30.0
"""For which a login that worked before waits for its new secret: who replaces a password changes the account and the
file or variable one after the other, in either order."""
_POLL_SECONDS: Final = 0.5


def renewed(
    error: ReplicatorError,
    *,
    worked: bool,
    check: Callable[[], None],
    ended: Callable[[], bool],
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Whether a secret that the worker has used is another one by now, so that another attempt is worth it.

    Args:
        worked: this worker has had a session with it.
        check: raises LeadershipLost.
        ended: the worker was asked to end.
    """
    if error.code not in LOGINS:
        return False
    until = clock() + (SECONDS if worked else 0.0)
    while not secrets.changed():
        if clock() >= until or ended():
            return False
        check()
        wait(_POLL_SECONDS)
    return True
