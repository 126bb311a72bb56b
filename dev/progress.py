"""Progress lines for people and for CI logs: one line each, flushed, never a spinner."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def say(text: str) -> None:
    sys.stderr.write(f"[dev] {text}\n")  # one write, so that parallel starts do not mix their lines
    sys.stderr.flush()


@contextmanager
def step(text: str) -> Iterator[None]:
    say(f"{text} ...")
    begun = time.monotonic()
    yield
    say(f"{text}: done in {time.monotonic() - begun:.1f} s")
