"""Lets kafka-python build the code of its messages before workers are forked.

The library writes, compiles and keeps an encoder or decoder for each kind of message when it first meets one: a third
of the CPU time that a worker needs until it delivers, and 4 MB that no other shares. Only what is public is used, and
what fails is left to the moment when it is needed.
"""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any, Final

from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.kafka import bulk as bulk  # ready, too
from replicator.sink.kafka import counts, fit, position
from replicator.sink.kafka.admin import FETCH_VERSIONS

MESSAGES: Final = {
    "kafka.protocol.metadata": {"ApiVersions": 4, "Metadata": 13, "FindCoordinator": 6},
    "kafka.protocol.producer": {"InitProducerId": 4, "AddPartitionsToTxn": 3, "Produce": 9, "EndTxn": 3},
    "kafka.protocol.consumer": {"ListOffsets": 11, "Fetch": FETCH_VERSIONS[1]},
    "kafka.protocol.admin": {"CreateTopics": 7, "DescribeConfigs": 4, "DescribeTransactions": 0},
}
"""What an open sink exchanges with a broker, in the versions that the library and brokers of 3.9 or later agree on."""


def warm() -> int:
    """Returns how many kinds of messages were found, requests and answers."""
    fit.moved()  # is asked once a process, and leaves a signature of each method behind
    position.load(position.dump(Term.unlimited(""), Position("", 4)), "")
    counts.load(counts.dump("", 1), "")
    found = 0
    for module, versions in MESSAGES.items():
        for name, version in versions.items():
            for suffix in ("Request", "Response"):
                kind = getattr(import_module(module), name + suffix, None)
                if kind is not None:
                    found += 1
                    _build(kind, version)
    return found


def _build(kind: Any, version: int) -> None:
    """By sending one without content, and receiving that. Where it breaks off, the code is there already."""
    sent = b""
    with contextlib.suppress(Exception):
        sent = bytes(kind[version]().encode())
    with contextlib.suppress(Exception):
        kind.decode(sent, version=version)
