"""Compares the tables of a task group by group, with progress that the next verification continues.

A group has the tables whose records are in one topic. Its states are kept until all of its tables are compared, and
then dropped: an interrupted group begins again, and the topics of finished ones are not read a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replicator.verify.report import TableResult
from replicator.verify.state import StateFile
from replicator.verify.topics.ports import TopicTable
from replicator.verify.topics.verifier import TopicVerifier
from replicator.verify.verifier import Wanted


class TopicGroups:
    """
    Args:
        begin: chooses the topics whose records are read next, from their beginnings.
        state: of an earlier verification that was interrupted.
    """

    def __init__(self, verifier: TopicVerifier, begin: Callable[[Sequence[str]], None], state: StateFile) -> None:
        self._verifier, self._begin, self._state = verifier, begin, state

    @property
    def finished(self) -> list[TableResult]:
        """So far, also if the comparison was interrupted."""
        return self._state.progress.finished

    def run(self, tables: Sequence[TopicTable | Wanted]) -> list[TableResult]:
        """The results in the order of `tables`. Raises what `TopicVerifier.run` does, E5033."""
        for topic, group in _groups(tables).items():
            known = {each.table for each in self.finished}
            if {_name(each) for each in group} <= known:
                continue
            if topic:
                self._begin([topic])
            self._state.finish(*self._verifier.run(group, len(tables)))
        self._state.remove()
        places = {_name(each): place for place, each in enumerate(tables)}
        return sorted((each for each in self.finished if each.table in places), key=lambda each: places[each.table])


def _groups(tables: Sequence[TopicTable | Wanted]) -> dict[str, list[TopicTable | Wanted]]:
    """By topic; "": tables that are not compared."""
    found: dict[str, list[TopicTable | Wanted]] = {}
    for each in tables:
        found.setdefault(each.topic if isinstance(each, TopicTable) else "", []).append(each)
    return found


def _name(each: TopicTable | Wanted) -> str:
    return each.wanted.table if isinstance(each, TopicTable) else each.table
