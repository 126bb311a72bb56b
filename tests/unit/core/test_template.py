"""What workers are forked from: nothing is left to them that could be done before."""

from __future__ import annotations

import subprocess
import sys

_READY = """
import sys, threading
import core.template
known = set(sys.modules)
import multiprocessing.sharedctypes, replicator.source.mysql.definition_reader
from replicator.sink import open_sink
from replicator.assembly.pipeline import build_source
from replicator.config.load import parse_task
import os
os.environ["SECRET"] = "x"
for delivery in ("exactly_once", "at_least_once"):
    config = parse_task({
        "name": "a",
        "source": {"type": "mysql", "user": "u", "password": "env:SECRET", "tables": ["a.*"]},
        "sink": {"type": "kafka", "bootstrap_servers": ["b:1"], "delivery": delivery},
    })
    build_source(config, 7)
    open_sink(config.sink, "a")
assert set(sys.modules) == known, set(sys.modules) - known
assert threading.active_count() == 1, threading.enumerate()
"""


def _run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_worker_imports_nothing_and_finds_no_threads() -> None:
    _run(_READY)
