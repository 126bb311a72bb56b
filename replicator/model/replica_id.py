"""The default replica id of a task."""

from __future__ import annotations

import hashlib


def derived(task: str) -> int:
    """In the upper half of the range, 2^31 to 2^32-1, where people rarely number servers, and the same for every
    instance of the task, so that a stream of an instance that is gone is ended by the server when the next one asks."""
    return (1 << 31) | int.from_bytes(hashlib.sha256(task.encode()).digest()[:4], "big")
