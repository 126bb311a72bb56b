"""Batch collector that stores records in an arena of the compiled module instead of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replicator import compiled
from replicator.decode.native.programs import EVALUATORS
from replicator.decode.plan.deferred_fields import DeferredText
from replicator.decode.plan.variable_values import Context
from replicator.decode.transactions.batch_collector import BatchCollector
from replicator.model.batch import Record
from replicator.model.packed_records import PackedRecords
from replicator.model.plan import Text, Var

_MOST_EXPECTED = 4 << 20


class ArenaCollector(BatchCollector):
    """
    Attributes:
        arena: records of this call of `feed`, and of the transaction at hand.
    """

    arena: Any = None

    def _clear(self, records: Sequence[Record]) -> None:
        expected = 0
        if self.arena is not None:
            expected = min(self.arena.size, _MOST_EXPECTED)
            self.arena.finished()
        arena = compiled.module("arena").Arena(expected)
        if isinstance(records, PackedRecords):
            for other, first, last in records.blocks:
                arena.extend(other, first, last)
        else:
            arena += records
        super()._clear(arena)
        self.arena = self.append = arena

    def _complete(self, deferred: DeferredText, xid: int | None) -> None:
        known = xid, self.state.offset, self.state
        size = self.arena.complete(
            self.state.finished_records, _pieces(deferred.field.row, *known), _pieces(deferred.field.last, *known)
        )
        if size < 0:
            super()._complete(deferred, xid)
        else:
            self.state.pending_size = size


def _pieces(
    steps: Sequence[Text | Var], xid: int | None, end_pos: int, context: Context
) -> tuple[list[bytes], list[int]]:
    """Only the row's number differs from row to row: what is around it, and what is added to it in between."""
    pieces, numbers = [b""], list[int]()
    for step in steps:
        if isinstance(step, Text):
            pieces[-1] += step.text.encode()
        elif step.name in ("offset", "order") and step.before is None:
            numbers.append(int(step.name == "order"))
            pieces.append(b"")
        else:
            known = {"xid": "null" if xid is None else xid, "end_pos": end_pos}
            value = str(known[step.name] if step.name in known else EVALUATORS[step.name](context)).encode("latin-1")
            if value != b"null" or step.before is None:
                pieces[-1] += (step.before or "").encode() + value
    return pieces, numbers
