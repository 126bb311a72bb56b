"""Changes joined from the records of arenas are those that Python joins from runs."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.model.batch import Record
from replicator.sink.mysql.net_changes import divided, joined, net
from replicator.sink.mysql.row_runs import Run, runs
from replicator.sink.mysql.row_sections import Changes, sections
from tests.unit.compiled.test_row_runs import packed
from tests.unit.sink.mysql.test_division import DIVIDED
from tests.unit.sink.mysql.test_net_changes import LAYOUT, PAIR, UNIQUE, image

_row = st.tuples(st.integers(0, 4), st.sampled_from([None, "", "a"]), st.none() | st.integers(0, 3))
_changes = st.lists(
    st.tuples(st.sampled_from(["a#0", "b#0"]), st.sampled_from("IUD"), _row, _row), min_size=1, max_size=14
)


def record(topic: str, operation: str, before: Any, after: Any, mark: bytes = b"") -> Record:
    old, new = image(before), image(after)
    value = {"I": new, "D": old, "U": len(old).to_bytes(4, "little") + old + new}[operation]
    return topic, None, mark + operation.encode() + value, b"p", 0, ()


@settings(max_examples=600, deadline=None)
@given(_changes, st.sampled_from([LAYOUT, UNIQUE, PAIR, *DIVIDED]), st.sampled_from([b"", b"F"]), st.data())
def test_any_changes(drawn: Any, layout: Any, mark: bytes, data: st.DataObject) -> None:
    """In several sections and arenas, next to runs of their own."""
    records = [record(topic, operation, old, new, mark) for topic, operation, old, new in drawn]
    most = data.draw(st.sampled_from([20, 60, 1 << 20]))
    whole = packed(records, data.draw(st.lists(st.integers(0, 14), max_size=3)))
    given_runs = [run for run in runs(records, 1 << 20) if run.topic == "a#0"]
    if not given_runs:
        return
    count = data.draw(st.sampled_from([1, 2, 5]))
    expected = joined(given_runs, layout, most, count)
    if expected is not None:
        expected = [[run._replace(operation=mark + run.operation) for run in part] for part in expected]
    parts: list[Run | Changes] = []
    for section in sections(whole, most):
        if any(topic.topic == "a#0" for topic in section.topics):
            changes = Changes(section, "a#0")
            parts += list(changes.runs) if data.draw(st.booleans()) else [changes]
    assert divided(parts, layout, most, count) == expected


def test_sections_with_and_without_foreign_key_checks_keep_their_order() -> None:
    records = [record("a#0", "I", (1, "a", 1), (1, "a", 1)), record("a#0", "I", (2, "b", 2), (2, "b", 2), b"F")]
    parts = [Changes(section, "a#0") for section in sections(packed(records, []), 100)]
    assert len(parts) == 2
    assert net(parts, LAYOUT, 100) is None
    assert net(parts[1:], LAYOUT, 100) == [Run("a#0", b"FI", 1, image((2, "b", 2)))]
