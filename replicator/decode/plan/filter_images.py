"""The row images that a filter is about, and where the values that it compares are in them."""

from __future__ import annotations

from collections.abc import Iterator

from replicator.decode.binlog.column_presence import IMAGES, Operation, Presence, refuse
from replicator.model.condition import And, Compare, Condition, During, Filter, Not, Of, Or
from replicator.model.plan import Image
from replicator.model.table import Table


class FilterImages:
    """
    Attributes:
        moves: rows can move in and out of the filter: both images of an update are tested.
        sides: the images that are tested.
        places: (image, column) of every value that is compared, each once.
    """

    def __init__(self, table: Table, operation: Operation, presence: Presence, chosen: Filter) -> None:
        """Raises DecodeError E2304: the images lack a column of the filter, so that it cannot be evaluated."""
        self._table, self._images, self._presence = table, IMAGES[operation], presence
        self.moves = chosen.rows and operation == "update"
        self.sides = self._images if self.moves else self._images[-1:]
        found = (self.place(of, side) for side in self.sides for of in _values(chosen.condition))
        self.places = tuple(dict.fromkeys(place for place in found if place is not None))

    def place(self, of: Of, side: Image) -> tuple[Image, int] | None:
        """Image and column where the value is; None where there is no such image: it is NULL."""
        image = side if of.image == "row" else of.image
        if image not in self._images:
            return None
        there = self._presence.source(image, of.column)
        if there is None:
            refuse(self._table, "lacks a column of its filter", self._table.columns[of.column].name)
        return there, of.column


def _values(condition: Condition) -> Iterator[Of]:
    if isinstance(condition, And | Or):
        for part in condition.parts:
            yield from _values(part)
    elif isinstance(condition, Not):
        yield from _values(condition.part)
    elif isinstance(condition, Compare):
        yield condition.left
        if isinstance(condition.right, Of):
            yield condition.right
    elif not isinstance(condition, During):
        yield condition.value
