"""How long ZooKeeper takes to answer the requests of this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from replicator.model.histogram import HistogramMeter

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds, seconds. They are the same in all versions of a record."""
REQUESTS: Final = HistogramMeter(BUCKETS)
"""Of all clients of the process. Requests that are sent together count as one; those without an answer count with the
time for which they were waited for."""


@contextmanager
def measured() -> Iterator[float]:
    """Counts what happens inside as one request. Gives the monotonic time of its beginning."""
    began = time.monotonic()
    try:
        yield began
    finally:
        REQUESTS.observe(time.monotonic() - began)
