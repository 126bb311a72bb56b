from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.api import World, memory_worlds


@pytest.fixture(scope="package")
def worlds() -> Iterator[Callable[[], World]]:
    with memory_worlds() as make:
        yield make


@pytest.fixture
def world(worlds: Callable[[], World]) -> World:
    return worlds()
