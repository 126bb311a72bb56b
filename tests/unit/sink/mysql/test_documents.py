"""JSON documents are compared by value."""

from __future__ import annotations

import pytest

from replicator.sink.mysql.conflicts.documents import equal


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [true]}', '{"b":[true],"a":1}', True),
        ("[0.0001]", "[1.0E-4]", True),
        ("0.1", "0.1000000000000000055511151231257827", False),
        ("0.1", "0.1000000000000000055511151231257827021181583404541015625", True),
        ("123456789012345678901", "123456789012345678902", False),
        ("1.00000000000000000001", "1.00000000000000000002", False),
        ("1", "true", False),
        ("0", "null", False),
        ('"1"', "1", False),
        ("1e400", "1e401", False),
        ("[1, 2]", "[2, 1]", False),
    ],
)
def test_documents(one: str, other: str, same: bool) -> None:
    assert equal(one, other) is same
    assert equal(other, one) is same
