"""Base class of formats that emit records for rows only and no messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replicator.model.happening import Message, Moment, Statement
from replicator.pipeline.ports import Interest


class Silent:
    """A `ports.Narrator` that has nothing to say; formats take over what they do say."""

    interests: frozenset[Interest] = frozenset()

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        return ()

    def begin(self, moment: Moment) -> Sequence[Message]:
        return ()

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> Sequence[Message]:
        return ()

    def query(self, text: str, moment: Moment) -> Sequence[Message]:
        return ()

    def heartbeat(self, moment: Moment) -> Sequence[Message]:
        return ()
