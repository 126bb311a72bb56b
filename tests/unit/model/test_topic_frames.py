"""Frames of records, cut anywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replicator.model.topic_frames import PlaceFrame, RecordFrame, place, record, split

SMALL = st.binary(max_size=100)
FRAMES = st.one_of(
    st.builds(
        RecordFrame,
        st.sampled_from(["a", "shop.item"]),
        st.integers(0, 99),
        st.integers(0, 1 << 60),
        st.none() | SMALL,
        st.none() | SMALL,
    ),
    st.builds(
        PlaceFrame,
        st.sampled_from(["a", "shop.item"]),
        st.integers(0, 99),
        st.integers(0, 1 << 60),
        st.sampled_from(["", "0f" * 16]),
    ),
)


@given(st.lists(FRAMES, max_size=5), st.integers(1, 90))
def test_cut(frames: list[RecordFrame | PlaceFrame], piece: int) -> None:
    parts = [record(*one) if isinstance(one, RecordFrame) else place(*one) for one in frames]
    assert all(len(part) >= 64 for part in parts)
    data, held, found = b"".join(parts), bytearray(), []
    for start in range(0, len(data), piece):
        held += data[start : start + piece]
        at = 0
        while (one := split(held, at)) is not None:
            found.append(one[0])
            at = one[1]
        del held[:at]
    assert found == frames
    assert not held
