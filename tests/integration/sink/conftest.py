"""Sinks of a task, closed in the end whatever becomes of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from replicator.pipeline.ports import Sink
from replicator.sink import open_sink
from tests.support.numbered import config


@pytest.fixture
def task(topic_prefix: str) -> str:
    return topic_prefix + "copy"


@pytest.fixture
def make() -> Iterator[Callable[..., Sink]]:
    """Of a broker's address, a task's name, and options of the sink."""
    made: list[Sink] = []

    def one(bootstrap: str, task: str, **options: Any) -> Sink:
        made.append(open_sink(config(bootstrap, **options), task))
        return made[-1]

    yield one
    for sink in made:
        sink.close()
