from __future__ import annotations

from pathlib import Path

from dev.faults import known
from dev.faults.known import Known, Result
from dev.faults.matrix import MATRIX
from dev.faults.page import named_by_row, page
from dev.faults.smallest import Held, Run, sentence
from dev.mutants.found import Found
from dev.soak.figures import Backlog
from dev.soak.outcome import Outcome


def test_every_row_has_a_test_and_every_number_a_row() -> None:
    rows = [row.number for row in MATRIX]
    assert rows == sorted(set(rows)) and set(rows) >= {*range(1, 41), *range(48, 58), *range(59, 63)}
    assert set(named_by_row()) == set(rows)


def test_numbers_are_read_from_names(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("def test_22_26_both() -> None: ...\ndef test_other() -> None: ...\n")
    assert named_by_row(tmp_path) == {22: ["test_x.py::test_22_26_both"], 26: ["test_x.py::test_22_26_both"]}


def test_the_page_shows_every_row() -> None:
    text = page()
    assert all(f"| {row.number} | {row.fault} |" in text for row in MATRIX)


RUN = Outcome(
    name="faults",
    seed=7,
    session_seconds=4.0,
    minutes=60.0,
    rounds=300,
    kinds={"leader: SIGKILL": 6, "a|b": 1},
    rows=3_000_000,
    lost=0,
    reordered=0,
    duplicated=0,
    repeated=812,
    overlap_ms=0.0,
    killed=[4.2, 4.4, 4.9],
    planned=[0.2],
    longest_outage=12.5,
    drained=[Backlog(4000, 1.5, 6.0), Backlog(9000, 3.0, 4.0)],
    memory={"host-a": 62},
    wrong=[],
    machine="2 CPUs",
)


def test_the_last_line_is_the_one_that_is_promised() -> None:
    assert RUN.last_line() == (
        "faults: rounds 300, rows 3000000, lost 0, reordered 0, duplicated 0, overlap 0 ms, "
        "take-over p50 4.40 s p99 4.90 s"
    )


def test_figures_timeouts_and_guards_are_shown() -> None:
    held = Held(2.0, 1.333, least_s=0.9, rows=100)
    lost = Held(1.0, 0.667, sessions=2, leaders=1)
    facts = Known(
        soaks=[RUN],
        smallest=Run(60.0, (3.1, 20.0), [lost, held]),
        mutants=[Found("lease check", "core/lease_renewal.py", "tests/unit/x.py::test_y"), Found("none", "a.py", "")],
    )
    text = page(facts)
    assert "| rows written and seen | 3,000,000 |" in text
    assert "| take-over after SIGKILL | T = 4 s: p50 4.40 s p99 4.90 s of 3 |" in text
    assert "2, drained within p50 1.50 s, at most 3.0 s, at 4.0 times the writer's rate (p50)" in text
    assert RUN.last_line() in text and "leader: SIGKILL (6)" in text
    assert "| 2 s | 0 | 0 | 0 | 0.90 of 1.33 s | yes |" in text and "| 1 s | 2 | 1 |" in text and "**no**" in text
    assert "| lease check | `core/lease_renewal.py` | `tests/unit/x.py::test_y` |" in text and "**none**" in text


def test_the_smallest_timeout_that_held_is_told() -> None:
    run = Run(60.0, (3.1, 20.0), [Held(1.0, 0.667, sessions=2), Held(2.0, 1.333), Held(4.0, 2.667)])
    assert sentence(run).endswith("held: 2 s")
    assert sentence(Run(1.0, (0, 0), [Held(1.0, 0.667, leaders=1)])).endswith("held: none")


def test_what_is_known_survives_being_written(tmp_path: Path) -> None:
    facts = Known(tests={"a::b": Result("passed", 1.0, "d", "c", "m")}, soaks=[RUN])
    known.write(facts, tmp_path / "faults.json")
    assert known.read(tmp_path / "faults.json") == facts
    assert known.read(tmp_path / "none.json") == Known()
