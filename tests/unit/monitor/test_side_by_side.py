"""Two texts beside each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.task_pages.side_by_side import Row, rows

texts = st.lists(st.sampled_from(["a", "b", "name: x", "name: y", "", "  port: 3306", "  port: 3307"]), max_size=30)


def whole(found: tuple[Row, ...], side: str) -> list[str]:
    """What one side shows."""
    return [getattr(row, side).text for row in found if getattr(row, side) is not None]


@given(texts, texts)
def test_with_enough_context_both_texts_are_there(before: list[str], after: list[str]) -> None:
    found = rows(before, after, context=100)
    if before == after:
        assert found == ()
    else:
        assert (whole(found, "left"), whole(found, "right")) == (before, after)
        for side in ("left", "right"):
            numbers = [getattr(row, side).number for row in found if getattr(row, side) is not None]
            assert numbers == list(range(1, len(numbers) + 1))


@given(texts, texts, st.integers(0, 4))
def test_nothing_that_differs_is_left_out(before: list[str], after: list[str], context: int) -> None:
    found = rows(before, after, context)
    shown = [row for row in found if row.kind != "skipped"]
    skipped = sum(row.skipped for row in found)
    for side, text in (("left", before), ("right", after)):
        if found:
            assert len(whole(tuple(shown), side)) + skipped == len(text)
    everything = rows(before, after, context=100)
    changed = [row for row in everything if row.kind != "equal"]
    assert [row for row in found if row.kind not in ("equal", "skipped")] == changed


def test_the_part_of_a_line_that_differs() -> None:
    before = [str(number) for number in range(20)] + ["  port: 3306 # x"]
    after = [*before[:-1], "  port: 13307 # x", "new"]
    skipped, *equal, changed, added = rows(before, after)
    assert (skipped.skipped, len(equal), added.kind) == (17, 3, "added")
    assert changed.left is not None and changed.right is not None
    assert (changed.left.before, changed.left.differs, changed.left.after) == ("  port: ", "3306", " # x")
    assert changed.right.differs == "13307" and changed.right.number == 21
