"""Tests that pass only alone are shown; CI refuses unit tests, and more than a few that the list does not name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dev.errors import DevError
from dev.reruns import FEW, LISTED, listed, report

KNOWN = {"tests/a.py::one": "waits for a lease (since 2026-11-01)"}


def test_a_rerun_is_shown_and_passes_outside_ci():
    lines, refused = report(["tests/b.py::two"], KNOWN, ci=False)
    assert not refused
    assert "tests/b.py::two" in lines[1] and "not listed" in lines[1]


def test_ci_shows_a_few_that_are_not_listed_and_refuses_more():
    few = [f"tests/failover/b.py::test_{number}" for number in range(FEW)]
    lines, refused = report([*few, "tests/a.py::one"], KNOWN, ci=True)
    assert not refused and lines[-1].startswith("mend them") and all(test in "".join(lines) for test in few)
    lines, refused = report([*few, "tests/failover/b.py::one_more"], KNOWN, ci=True)
    assert refused and "CI counts" in lines[-1]


def test_ci_refuses_a_unit_test_that_passes_only_alone():
    assert report(["tests/unit/b.py::two"], KNOWN, ci=True)[1]
    assert not report(["tests/unit/b.py::two"], KNOWN, ci=False)[1]


def test_ci_accepts_listed_reruns_and_shows_the_reason():
    lines, refused = report(["tests/a.py::one"], KNOWN, ci=True)
    assert not refused
    assert "waits for a lease" in lines[1]


def test_no_rerun_no_words():
    assert report([], KNOWN, ci=True) == ([], False)


def test_an_entry_needs_a_date_and_a_reason(tmp_path: Path):
    file = tmp_path / "reruns.toml"
    file.write_text('[[rerun]]\ntest = "tests/a.py::one"\nreason = "x"\n')
    with pytest.raises(DevError, match="since"):
        listed(file)
    file.write_text('[[rerun]]\ntest = "tests/a.py::one"\nsince = 2026-11-01\nreason = "x"\n')
    assert listed(file) == {"tests/a.py::one": "x (since 2026-11-01)"}


def test_listed_tests_exist():
    tree = Path(__file__).parents[3]
    for test in listed(LISTED):
        file, _, rest = test.partition("::")
        function = rest.split("::")[-1].split("[")[0]
        assert f"def {function}(" in (tree / file).read_text(), test
