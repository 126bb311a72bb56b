"""The recorded binlogs of the zoo, once per session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dev.servers import MySQL
from tests.golden.recording import Recordings
from tests.servers import started


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recordings]:
    made = Recordings(tmp_path_factory.mktemp("golden"), lambda: started(MySQL(fast=True)))
    yield made
    made.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "recordings" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.servers)
