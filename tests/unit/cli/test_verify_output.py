"""Output of `replicator verify`."""

from __future__ import annotations

from replicator.cli.verify_output import document, progress, text
from replicator.verify.report import Sample, TableResult, overall, shown


def test_progress_has_percent_and_time_left_while_the_estimate_holds() -> None:
    assert progress(250, 1000, 10) == ["250 rows", "25 %", "10 rows/s", "about 75s left"]
    assert progress(1500, 1000, 10) == ["1500 rows", "10 rows/s"]
    assert progress(0, 0, 0) == ["0 rows"]


def test_the_worst_table_decides() -> None:
    results = [TableResult("a.a", "b.a", result) for result in ("equal", "not_compared", "undecided", "differs")]
    assert overall(results) == "differs"
    assert overall(results[:3]) == "undecided"
    assert overall(results[:2]) == overall([]) == "equal"
    assert overall([*results, TableResult("a.b", "b.b", "error")]) == "error"


def test_rows_that_only_changed_are_undecided() -> None:
    result = TableResult("a.a", "b.a", changing=1)
    result.conclude()
    assert result.result == "undecided"
    result = TableResult("a.a", "b.a", changing=1, extra=1)
    result.conclude()
    assert result.result == "differs"


def test_control_characters_of_keys_are_shown() -> None:
    result = TableResult("a.t", "b.t", "differs", (), 5, 1, samples=[Sample("missing", {"k": "x\x1b[31m"})])
    lines = text([result], None).splitlines()
    assert "a.t -> b.t: row k x\\x1b[31m: missing at the target" in lines
    assert any("multiset of hashes" in line for line in lines)
    assert '"result": "differs"' in document("copy", "differs", [result])


def test_values_are_shown_for_people() -> None:
    assert [shown(each) for each in (None, b"", b"a", b"\xff\0", b"\0", "ä".encode())] == [
        "NULL", "", "a", "0xff00", "0x00", "ä",
    ]  # fmt: skip
    assert shown(b"x" * 300) == "x" * 200 + "..."
