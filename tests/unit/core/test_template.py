"""What workers are forked from: nothing is left to them that could be done before."""

from __future__ import annotations

import subprocess
import sys

_FILLED = """
from itertools import pairwise
from core import gaps
holed = [[bytes(size - 33) for _ in range(1000)][::2] for size in range(48, 513, 16)]
python, heap = gaps.fill()
assert python > 500 * sum(range(48, 513, 16)), python
for size in range(48, 513, 16):
    made = [bytes(size - 33) for _ in range(24)]
    near = sum(abs(id(b) - id(a)) == size for a, b in pairwise(made))
    assert near >= 16, (size, near)
"""

_READY = """
import sys, threading
import core.template
known = set(sys.modules)
import multiprocessing.sharedctypes, replicator.source.mysql.definitions
from replicator.sink import open_sink
from replicator.assembly import build_source
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


_GATHERED = """
import gc, core.template
from core import called
gc.unfreeze()
names = called.read()
found = called.gather(names)
assert found > 0.6 * len(names), (found, len(names))
from replicator.pipeline import Pipeline
from replicator.sink.kafka.exactly_once import ExactlyOnceSink
import kafka
made = [Pipeline.run, ExactlyOnceSink.commit, kafka.KafkaProducer.__init__]
before = [id(each.__code__) for each in made]
named = frozenset((each.__module__, each.__qualname__) for each in made)
assert named <= names, named - names
assert called.gather(named) == len(made)
assert all(id(each.__code__) != old for each, old in zip(made, before))
"""


def _run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_made_after_the_gaps_are_filled_stands_together() -> None:
    _run(_FILLED)


def test_a_worker_imports_nothing_and_finds_no_threads() -> None:
    _run(_READY)


def test_what_a_worker_calls_first_is_known_and_gathered() -> None:
    _run(_GATHERED)
