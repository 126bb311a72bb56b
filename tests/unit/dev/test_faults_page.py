from __future__ import annotations

from pathlib import Path

from dev.faults.matrix import MATRIX
from dev.faults.page import named_by_row, page


def test_every_row_has_a_test_and_every_number_a_row() -> None:
    rows = [row.number for row in MATRIX]
    assert rows == sorted(set(rows)) and set(rows) == {*range(1, 41), *range(48, 58), *range(59, 63)}
    assert set(named_by_row()) == set(rows)


def test_numbers_are_read_from_names(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("def test_22_26_both() -> None: ...\ndef test_other() -> None: ...\n")
    assert named_by_row(tmp_path) == {22: ["test_x.py::test_22_26_both"], 26: ["test_x.py::test_22_26_both"]}


def test_the_page_shows_every_row() -> None:
    text = page()
    assert all(f"| {row.number} | {row.fault} |" in text for row in MATRIX)
