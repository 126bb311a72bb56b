"""Joins the changes of each row of a table into one, where the target cannot tell the difference.

Of the changes in one transaction of the target only their sum is visible. So a row that was inserted and deleted needs
nothing, and one that was updated five times one update. What remains is executed in three steps: deletes, updates,
inserts.

That is the same as the changes in their order only if no other unique key has to be free at some point between them,
and nothing else looks at the rows meanwhile. Whatever is not known to be so stays in its order:

    - tables without a primary key, with foreign keys, with system versioning
    - tables that others refer to: with cascades, or in the same statement
    - updates whose sum changes a column of another unique key
    - rows of snapshots; rows with foreign key checks among rows without
    - changes that do not follow from each other: an insert of a row that is there, an update of one that is not
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from replicator import compiled
from replicator.model.packed_records import Block, PackedRecords
from replicator.model.target_table import UNCHECKED
from replicator.sink.mysql import division
from replicator.sink.mysql.image_values import Layout, changes, values
from replicator.sink.mysql.row_runs import Run
from replicator.sink.mysql.row_sections import Changes

FEWEST: Final = 3
"""Runs of a table from which on joining them is worth it."""
_PLAIN: Final = frozenset({b"I", b"U", b"D"})
_UNCHECKED: Final = frozenset(UNCHECKED + operation for operation in _PLAIN)


def net(parts: Sequence[Run | Changes], layout: Layout, most: int) -> list[Run] | None:
    """What the changes of one table version come to; None: they have to stay as they are.

    Args:
        parts: all that a transaction has of the table, in their order.
        most: bytes of images in a run, unless one row alone has more.
    """
    found = divided(parts, layout, most, 1)
    return None if found is None else found[0]


def divided(parts: Sequence[Run | Changes], layout: Layout, most: int, count: int) -> list[list[Run]] | None:
    """The same in `count` parts, whose order does not matter: rows that may have equal values of a unique key are in
    one of them."""
    operations = {_mark(part) + b"I" if isinstance(part, Changes) else part.operation for part in parts}
    mark = _mark(parts[0])
    if not operations <= (_UNCHECKED if mark else _PLAIN):
        return None
    found = (
        _compiled(parts, layout, most, count) if compiled.available() else joined(_runs_of(parts), layout, most, count)
    )
    if found is None or not mark:
        return found
    return [[run._replace(operation=mark + run.operation[-1:]) for run in part] for part in found]


def _mark(part: Run | Changes) -> bytes:
    return part.section.mark or b"" if isinstance(part, Changes) else part.operation[:-1]


def _runs_of(parts: Iterable[Run | Changes]) -> list[Run]:
    return [run for part in parts for run in (part.runs if isinstance(part, Changes) else (part,))]


def _compiled(parts: Sequence[Run | Changes], layout: Layout, most: int, count: int) -> list[list[Run]] | None:
    given: list[tuple[bytes, bytes] | tuple[Sequence[Block], str]] = []
    for part in parts:
        if isinstance(part, Changes) and isinstance(part.section.records, PackedRecords):
            given.append((part.section.records.blocks, part.topic))
        else:
            given += ((run.operation, run.images) for run in _runs_of([part]))
    found = compiled.module("net_rows").net(
        given, layout.sizes, layout.key, layout.unique, most, count, list(layout.keys)
    )
    return None if found is None else [[Run(parts[0].topic, *each) for each in part] for part in found]


def joined(runs: Sequence[Run], layout: Layout, most: int, count: int = 1) -> list[list[Run]] | None:
    """The same in Python."""
    rows: dict[tuple[bytes | None, ...], list[bytes | None]] = {}  # key -> the row before all changes, and now
    for run in runs:
        for before, after in changes(run, layout):
            old = None if before is None else _key(before, layout)
            new = None if after is None else _key(after, layout)
            if any(key is not None and None in key for key in (old, new)):
                return None
            if old is not None:
                row = rows.setdefault(old, [before, before])
                if row[1] != before:
                    return None
                row[1] = after if old == new else None
            if new is not None and new != old:
                row = rows.setdefault(new, [None, None])
                if row[1] is not None:
                    return None
                row[1] = after
    sums = {key: (row[0], row[1]) for key, row in rows.items() if row[0] != row[1]}
    for before, after in sums.values():
        if before is None or after is None:
            continue
        one, other = values(before, layout), values(after, layout)
        if any(one[column] != other[column] for column in layout.unique):
            return None
    places = division.places(sums, layout, count)
    return [
        _runs_of_sums(runs[0].topic, [sums[key] for key in sums if places[key] == part], most) for part in range(count)
    ]


def _runs_of_sums(topic: str, sums: Sequence[tuple[bytes | None, bytes | None]], most: int) -> list[Run]:
    deletes = [before for before, after in sums if after is None and before is not None]
    updates = [before + after for before, after in sums if before is not None and after is not None]
    inserts = [after for before, after in sums if before is None and after is not None]
    return [
        *_runs(topic, b"D", deletes, most),
        *_runs(topic, b"U", updates, most),
        *_runs(topic, b"I", inserts, most),
    ]


def _runs(topic: str, operation: bytes, images: Sequence[bytes], most: int) -> Iterator[Run]:
    part: list[bytes] = []
    size = 0
    for image in images:
        if part and size + len(image) > most:
            yield Run(topic, operation, len(part), b"".join(part))
            part, size = [], 0
        part.append(image)
        size += len(image)
    if part:
        yield Run(topic, operation, len(part), b"".join(part))


def _key(image: bytes, layout: Layout) -> tuple[bytes | None, ...]:
    found = values(image, layout)
    return tuple(found[column] for column in layout.key)
