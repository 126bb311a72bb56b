"""Rounds of `verify --continuous`: changes alone are shown, and errors that pass do not end it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from replicator.cli.verify_continuous import Rounds, Stopped, changes
from replicator.errors import ProcessError, ReplicatorError, SinkUnavailable
from replicator.model.verification import Result
from replicator.verify.report import TableResult


def table(name: str, result: Result = "equal", missing: int = 0, rows: int = 1) -> TableResult:
    return TableResult(name, name, result, rows=rows, missing=missing)


class Script:
    """What each round gives."""

    def __init__(self, *rounds: list[TableResult] | ReplicatorError) -> None:
        self._left: Iterator[list[TableResult] | ReplicatorError] = iter(rounds)
        self.shown: list[list[str]] = []
        self.errors: list[str] = []
        self.rounds = Rounds(
            self.once, self.show, lambda error: self.errors.append(error.code), 5, lambda seconds: None
        )

    def once(self) -> Sequence[TableResult]:
        found = next(self._left, None)
        if found is None:
            raise Stopped
        if isinstance(found, ReplicatorError):
            raise found
        return found

    def show(self, changed: Sequence[TableResult]) -> None:
        self.shown.append([each.table for each in changed])


def test_only_changes_are_shown() -> None:
    first = [table("a"), table("b")]
    script = Script(first, [table("a", rows=9), table("b")], [table("a"), table("b", "differs", 2)], first)
    script.rounds.run()
    assert script.shown == [["a", "b"], ["b"], ["b"]]
    assert script.rounds.latest == first


def test_errors_that_pass_are_shown_once() -> None:
    behind = ProcessError("E5031", "behind")
    script = Script(behind, behind, [table("a")], behind, SinkUnavailable("E3401", "away"), [table("a")])
    script.rounds.run()
    assert script.errors == ["E5031", "E5031", "E3401"] and script.shown == [["a"]]


def test_a_signal_in_the_first_round_leaves_no_verdict() -> None:
    script = Script()
    script.rounds.run()
    assert script.rounds.latest is None


@pytest.mark.parametrize("code", ["E5032", "E5033"])
def test_errors_that_last_end_it(code: str) -> None:
    with pytest.raises(ProcessError):
        Script([table("a")], ProcessError(code, "no")).rounds.run()


def test_a_new_table_is_a_change() -> None:
    assert changes([table("a")], [table("a"), table("b")]) == [table("b")]
