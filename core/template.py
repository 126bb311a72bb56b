"""The template process from which the Core forks its workers (launcher.py), with the data path loaded.

What is imported and built here is paid for once, and workers share its memory. `gc.freeze` keeps it shared: a
collection of garbage writes into every object that it visits, and the first one in a worker would copy 25 MB.
"""

from __future__ import annotations

import gc
import importlib
import signal
from typing import Final

from core.parent_death import end_with_the_parent
from replicator.assembly.preload import preload
from replicator.pipeline import malloc
from replicator.telemetry import log

MODULES: Final = (
    "core.worker",
    "core.relay",
    "core.channel",
    "core.launcher",  # has the function that a worker begins with
    # multiprocessing imports it when it unpacks what a worker shares with its agent.
    "multiprocessing.sharedctypes",
    # The script that started the Core imports it, and multiprocessing looks into that script in every worker.
    "replicator.cli.main",
)


def load() -> None:
    """Loads the data path and the modules of a worker, and freezes the result."""
    end_with_the_parent()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to the whole group or unit: the agent drains the workers first
    malloc.keep()
    for name in MODULES:
        importlib.import_module(name)
    preload()
    for style in ("json", "text"):
        log.setup(style)
    gc.collect()
    gc.freeze()


load()
