"""What every worker of a Core begins with. Imported by the template process alone (launcher.py), from which workers are
forked: what is loaded here is loaded once, and its pages are shared.

They stay shared because they are frozen: a collection of garbage writes into each object that it looks at, and the
first one in a worker would copy 25 MB.
"""

from __future__ import annotations

import gc
import importlib
from typing import Final

from replicator import compiled
from replicator.sink.kafka.warm import warm

MODULES: Final = (
    "core.worker",
    # What the data path imports late, so that other processes need not load it.
    "replicator.source.mysql",
    "replicator.sink.kafka.exactly_once",
    "replicator.sink.kafka.at_least_once",
    "replicator.checks.transforms",
    "replicator.checks.task",
    "replicator.sink.kafka.checks",
    "replicator.source.mysql.checks",
    "replicator.source.mysql.certificates",
    # What the standard library and the clients import late.
    "cryptography.hazmat.backends.openssl",
    "encodings.idna",
    "encodings.utf_8_sig",
    # The script that started the Core imports it, and multiprocessing looks into that script in every worker.
    "replicator.cli.main",
)


def load() -> None:
    """Imports everything, the compiled part too, lets the Kafka client build its encoders, and freezes it all."""
    for name in MODULES:
        importlib.import_module(name)
    compiled.available()
    warm()
    gc.collect()
    gc.freeze()


load()
