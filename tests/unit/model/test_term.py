from __future__ import annotations

import pytest

from replicator.errors import LeadershipLost
from replicator.model.term import Term


def test_a_term_holds_until_its_deadline_and_follows_it() -> None:
    now, deadline = 100.0, 105.0
    term = Term("task", "uid", 7, lambda: deadline, lambda: now)
    term.check()
    assert term.remaining() == 5.0
    now = 105.0
    with pytest.raises(LeadershipLost, match="epoch 7"):
        term.check()
    deadline = 110.0
    term.check()
    deadline = 0.0
    with pytest.raises(LeadershipLost):
        term.check()


def test_a_process_without_rivals_has_no_deadline() -> None:
    Term.unlimited("task").check()
