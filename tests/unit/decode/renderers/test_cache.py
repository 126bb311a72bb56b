from __future__ import annotations

import pytest

from replicator.decode.renderers.cache import Cache


def test_makes_each_text_once_and_stays_bounded() -> None:
    made: list[int] = []

    def make(key: int) -> str:
        made.append(key)
        return str(key)

    cache = Cache(make, limit=3)
    assert [cache[key] for key in (1, 2, 1, 2)] == ["1", "2", "1", "2"]
    assert made == [1, 2]
    for key in range(100):
        assert cache[key] == str(key)
        assert len(cache) <= 3


def test_keeps_nothing_of_a_failure() -> None:
    cache: Cache[int] = Cache(lambda key: str(1 // key))
    with pytest.raises(ZeroDivisionError):
        cache[0]
    assert 0 not in cache
