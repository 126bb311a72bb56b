"""The list of guards is current: each text stands in its file exactly once, and the tests that it names exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from dev.mutants.__main__ import without
from dev.mutants.found import Found, joined
from dev.mutants.guard import Guard
from dev.mutants.guards import GUARDS

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_every_guard_is_where_the_list_says(guard: Guard) -> None:
    changed = without(guard, (ROOT / guard.file).read_text())
    if guard.file.endswith(".py"):
        compile(changed, guard.file, "exec")
    for test in guard.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists()
        assert not name or f"def {name}(" in (ROOT / path).read_text()


def test_a_guard_that_moved_is_told() -> None:
    with pytest.raises(ValueError, match="0 times"):
        without(GUARDS[0], "nothing")


def test_a_run_of_some_guards_keeps_what_is_known_of_the_others() -> None:
    first, second, third = (guard.name for guard in GUARDS[:3])
    known = [Found(third, "c.py", "test_c"), Found(first, "a.py", "test_a"), Found("gone", "g.py", "test_g")]
    found = joined(known, [Found(second, "b.py", ""), Found(third, "c.py", "test_other")])
    assert [(one.guard, one.killer) for one in found] == [(first, "test_a"), (second, ""), (third, "test_other")]
