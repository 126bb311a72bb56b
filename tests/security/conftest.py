from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.security.site import Site
from tests.support.api import World, memory_worlds


@pytest.fixture(scope="package")
def worlds() -> Iterator[Callable[[], World]]:
    with memory_worlds() as make:
        yield make


@pytest.fixture
def site(worlds: Callable[[], World]) -> Site:
    return Site(worlds())
