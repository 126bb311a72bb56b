"""The keys of a row image as SQL, to look for rows with the same ones elsewhere."""

from __future__ import annotations

from replicator.errors import ReplicatorError
from replicator.sink.mysql.conflicts import key_literals
from replicator.sink.mysql.conflicts import lookup as lookups
from replicator.sink.mysql.conflicts.lookup import Lookup
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.image_values import changes, values
from replicator.sink.mysql.row_groups import Rows
from replicator.sink.mysql.shards import KeyValues


def of_row(target: Target, rows: Rows) -> list[KeyValues]:
    """Of the row that the first change of `rows` leaves: its primary key, and its other unique keys without NULL. Empty
    where they can't be read."""
    try:
        known = lookups.read(target, rows.route.stored)
    except ReplicatorError:
        return []
    image = next((after for _, after in changes(rows.run, known.layout) if after is not None), None)
    return [] if image is None else of_image(known, image)


def of_image(known: Lookup, image: bytes) -> list[KeyValues]:
    found, columns = values(image, known.layout), known.shape.columns
    return [
        [(columns[index].name, key_literals.literal(columns[index], found[index] or b"")) for index in key]
        for key in (known.layout.key, *known.uniques)
        if all(found[index] is not None for index in key)
    ]
