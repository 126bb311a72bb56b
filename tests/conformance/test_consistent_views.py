"""What the pipeline relies on in the consistent views of every source of snapshots: memory twin, MySQL and MariaDB."""

from __future__ import annotations

import contextlib

import pytest

from replicator.errors import SourceUnavailable
from tests.conformance.snapshot_rigs import Rig
from tests.conformance.test_snapshot_source import begun, rig, values, walk

__all__ = ["rig"]


@pytest.mark.parametrize("key", [("a",), ()])
def test_consistent_views_have_the_rows_of_one_moment(rig: Rig, key: tuple[str, ...]) -> None:
    rig.create("one", key)
    rig.create("two")
    rig.insert("one", [(n, "x", n) for n in range(5)])
    rig.insert("two", [(n, "x", n) for n in range(5)])
    source, tables = rig.locking_source(), [f"{rig.database}.one", f"{rig.database}.two"]
    before = rig.position()
    views = source.open_views(before.server, 2, tables)
    with contextlib.ExitStack() as closing:
        for reader in views.readers:
            closing.callback(reader.close)
        rig.insert("one", [(9, "new", 9)])
        rig.delete("two", 0)
        for table, reader in zip(tables, views.readers, strict=True):
            found = [
                row for _, chunk in walk(rig, reader, begun(reader, table), 2, views.position) for row in values(chunk)
            ]
            assert [row[0] for row in found] == list(range(5))
    assert (views.position.file, views.position.offset) == (before.file, before.offset) and views.lock_s < 5


def test_a_table_that_is_altered_behind_the_moment_has_no_rows_of_it(rig: Rig) -> None:
    rig.create("one")
    rig.insert("one", [(1, "x", 1)])
    table = f"{rig.database}.one"
    views = rig.locking_source().open_views(rig.position().server, 1, [table])
    with contextlib.closing(views.readers[0]) as reader:
        rig.add_column("one")
        with pytest.raises(SourceUnavailable) as caught:
            for _ in walk(rig, reader, begun(reader, table), 2, views.position):
                pass
    assert caught.value.code == "E2225"
