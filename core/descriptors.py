"""How many files a Core may have open: raises the limit, and refuses one too low to lead a task with."""

from __future__ import annotations

import resource
from typing import Final

from replicator.errors import ProcessError

LEAST: Final = 64
"""A Core that leads one task holds about 30; each further task and each connection to a source adds some."""
_MOST: Final = 65536


def provide() -> None:
    """Raises the soft limit of this process and of its workers up to the hard one.

    Asked before anything is opened: which file is the first that cannot be opened depends on the moment, and an error
    then tells of that file, or a thread of a library prints a traceback.

    Raises:
        ProcessError: E5019.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return
    most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if (limit := max(soft, most)) < LEAST:
        raise ProcessError(
            "E5019",
            "the limit of open files is too low",
            found=f"{limit} open files",
            wanted=f"at least {LEAST}, and 16 for each task that the Core may run",
            fix="Raise it with LimitNOFILE= in the Core's systemd unit, or with `ulimit -n`.",
        )
