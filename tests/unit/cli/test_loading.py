"""Ctrl-C while code is loaded: whatever drops exceptions at that moment, the process ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from replicator.cli.failures import INTERRUPTED
from replicator.cli.loading import loading

_DROPPED = """
import os, signal
from replicator.cli.loading import loading

class Drops:
    def __del__(self):  # exceptions end here, as in code that is not Python's
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

with {manager}:
    Drops()
print("went on")
"""


@pytest.mark.parametrize(
    ("manager", "ended"), [("loading()", (INTERRUPTED, "")), ("open(os.devnull)", (0, "went on\n"))]
)
def test_it_ends_where_an_exception_would_be_dropped(manager: str, ended: tuple[int, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DROPPED.format(manager=manager)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == ended


@pytest.mark.parametrize("before", [signal.SIG_IGN, lambda *_: None, signal.default_int_handler])
def test_whoever_asked_for_the_signal_has_it_again(before: Any) -> None:
    found = signal.signal(signal.SIGINT, before)
    try:
        with loading():
            ours = signal.getsignal(signal.SIGINT)
        assert (ours is before) == (before is not signal.default_int_handler)
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, found)


def test_in_another_thread_it_is_nothing() -> None:
    found = []

    def enter() -> None:
        with loading():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
