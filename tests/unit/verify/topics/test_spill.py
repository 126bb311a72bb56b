"""Values that do not fit into memory are the same as in a plain dict."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.verify.topics.spill import PARTS, Merge, Spill, later


def digest(number: int) -> bytes:
    return blake2b(number.to_bytes(4, "little"), digest_size=16).digest()


def everything(spill: Spill) -> dict[bytes, bytes]:
    return {key: value for number in range(PARTS) for key, value in spill.part(number).items()}


def joined(earlier: bytes, value: bytes) -> bytes:
    """Associative, and keeps all of a key's history."""
    return earlier + value


PUTS = st.lists(st.tuples(st.integers(0, 30), st.binary(max_size=20)), max_size=120)


@given(PUTS, st.sampled_from([0, 700, 3000, 1 << 20]), st.sampled_from([later, joined]))
def test_as_a_plain_dict(puts: list[tuple[int, bytes]], most: int, merge: Merge) -> None:
    plain: dict[bytes, bytes] = {}
    spill = Spill(merge, most)
    try:
        for number, value in puts:
            key = digest(number)
            plain[key] = merge(plain[key], value) if key in plain else value
            spill.put(key, value)
        assert everything(spill) == plain
        assert spill.spilled == (most == 0 and bool(puts)) or most > 0
    finally:
        spill.close()


def test_nothing_is_left_in_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spill = Spill(most_bytes=500)
    for number in range(50):
        spill.put(digest(number), b"value")
    assert spill.spilled and not list(tmp_path.iterdir())
    assert len(everything(spill)) == 50
    spill.close()
    spill.close()
    assert everything(spill) == {}
