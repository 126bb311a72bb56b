"""Ends a process when its parent ends, by PR_SET_PDEATHSIG.

A worker ends by itself when its pipe closes or its lease is over, but not while it is stopped (SIGSTOP): it then
outlived its Core, and the template with it. The kernel kills stopped processes too: the Core's end kills the template,
and the template's end the workers, which are its children.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_EXIT: Final = 4

template = 0
"""Process id of the template; 0 in every other process that was not forked from it."""


def end_with_the_parent() -> None:
    """Called by the template as it starts, so that its children know it. The parent is the *thread* that started it:
    in a Core one that lives as long as the process does."""
    global template
    template = os.getpid()
    _ask_for_the_signal()


def end_with_the_template() -> None:
    """Called by what the template forks."""
    _ask_for_the_signal()
    if template and os.getppid() != template:
        os._exit(_EXIT)  # it ended before the kernel was asked


def _ask_for_the_signal() -> None:
    """Only Linux has it; elsewhere a stopped worker ends when it is continued."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
