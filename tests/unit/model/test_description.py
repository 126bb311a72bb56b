"""Which FORMAT_DESCRIPTION events tell of checksums."""

from __future__ import annotations

import pytest

from replicator.model.description import algorithm, tells_checksum


def body(version: bytes, types: int, behind: bytes = b"") -> bytes:
    return b"\x04\x00" + version.ljust(50, b"\0") + bytes(4) + b"\x13" + bytes(types) + behind


@pytest.mark.parametrize(
    ("version", "types", "told"),
    [
        (b"5.5.9-log", 27, False),
        (b"5.1.73", 27, False),
        (b"5.6.0-m4", 27, False),
        (b"5.6.1", 27, True),
        (b"5.6.14-log", 35, True),
        (b"9.7.4-2", 42, True),
        (b"5.2.14-MariaDB", 27, False),
        (b"5.3.12-MariaDB", 27, True),
        (b"10.2.11-MariaDB-log", 171, True),
        (b"5.5.9-log", 35, True),  # no 5.5 that anybody knows: read as if it told, so that damage is found
        (b"nonsense", 27, True),
    ],
)
def test_by_the_release_that_wrote_it(version: bytes, types: int, *, told: bool) -> None:
    assert tells_checksum(body(version, types)) == told


@pytest.mark.parametrize("used", [0, 1])
def test_the_algorithm_stands_before_the_events_own_checksum(used: int) -> None:
    assert algorithm(body(b"8.4.0", 42, bytes([used]) + b"\xff\xff\xff\xff")) == used
    assert algorithm(body(b"5.5.9", 27)) == 0
