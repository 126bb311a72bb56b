"""What `replicator check` says of a task's snapshot, of tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from replicator.assembly.snapshot_checks import check
from replicator.config.load import parse_task
from replicator.errors import SourceError, SourceUnavailable
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.pipeline.ports import Chunk, TableSize


class Tables:
    """A `SnapshotSource` and its reader. `keys`: by table; an error instead is raised."""

    def __init__(self, keys: dict[str, tuple[str, ...] | Exception]) -> None:
        self.keys = keys
        self.closed = False

    def open(self, server: str) -> Tables:
        return self

    def tables(self) -> Sequence[TableSize]:
        return [TableSize(table, 600_000, 45_000_000) for table in sorted(self.keys)]

    def load(self) -> int:
        return 1

    def begin(self, table: str) -> OpenTable | None:
        key = self.keys[table]
        if isinstance(key, Exception):
            raise key
        return OpenTable(table, key)

    def read(self, table: OpenTable, most: int, passed: Position) -> Chunk:
        raise AssertionError("no row is read")

    def close(self) -> None:
        self.closed = True


ITEM = {"shop.item": ("id",)}


def found(
    keys: dict[str, Any], position: Position | None = None, mode: str = "initial", **snapshot: Any
) -> dict[str, Finding]:
    source: dict[str, Any] = {"type": "mysql", "user": "u", "password": "env:X", "tables": ["shop.*"]}
    source |= {"snapshot": {"mode": mode, **snapshot}}
    config = parse_task({"name": "copy", "source": source, "sink": {"type": "stdout"}})
    tables = Tables(keys)
    findings = check(config, position, tables)
    assert tables.closed or position is not None or mode == "never"
    assert all(finding.fix for finding in findings if finding.severity != "ok")
    by_id = {finding.id.removeprefix("source."): finding for finding in findings}
    assert len(by_id) == len(findings)
    return by_id


def test_rows_bytes_keys_and_time() -> None:
    told = found({**ITEM, "shop.order": ("shop", "number")})
    assert {finding.severity for finding in told.values()} == {"ok"}
    assert told["snapshot"].found == (
        "2 tables, about 1,200,000 rows, 90.0 MB by the statistics of the server; about 40 s at 30,000 rows/s (assumed)"
    )
    assert told["snapshot_keys"].found == "shop.item (id), shop.order (shop, number)"
    assert (
        "about 20 min at 500 rows/s (source.snapshot.max_rows_per_s)"
        in found(ITEM, max_rows_per_s=500)["snapshot"].found
    )


@pytest.mark.parametrize(("choice", "severity"), [("fail", "fail"), ("skip", "warn"), ("read", "warn")])
def test_a_table_without_a_key(choice: str, severity: str) -> None:
    told = found({**ITEM, "shop.log": ()}, without_key=choice)
    assert told["snapshot_without_key"].severity == severity
    assert "shop.log" in told["snapshot_without_key"].found
    assert ("E2221" in told["snapshot_without_key"].found) is (choice == "fail")
    assert told["snapshot_keys"].found == "shop.item (id)"


def test_a_table_that_may_not_be_read() -> None:
    denied = SourceError("E2104", "may not read", wanted="SELECT", fix="GRANT SELECT ON shop.pay", table="shop.pay")
    told = found({**ITEM, "shop.pay": denied})
    assert told["snapshot_privileges"].severity == "fail" and "shop.pay" in told["snapshot_privileges"].found
    assert told["snapshot_privileges"].fix == "GRANT SELECT ON shop.pay"


def test_only_tables_of_the_snapshot_count() -> None:
    told = found({**ITEM, "shop.log": ()}, tables=["shop.item"], where={"shop.log": "id > 1"})
    assert "snapshot_without_key" not in told
    assert told["snapshot_where"].severity == "warn" and "shop.log" in told["snapshot_where"].found
    assert found(ITEM, tables=["shop.other"])["snapshot"].severity == "warn"


def test_a_server_that_goes_away() -> None:
    away = SourceUnavailable("E2001", "not reachable", wanted="a server", fix="Start it.")
    assert found({"shop.item": away})["snapshot"].severity == "fail"


def test_a_task_that_has_begun_already() -> None:
    assert found(ITEM, mode="never") == {}
    told = found(ITEM, Position("b.1", 4))["snapshot"]
    assert told.severity == "warn" and "snapshot start copy" in told.fix
    progress = SnapshotProgress("initial", 5, rows=40, estimate=100)
    assert (
        found(ITEM, Position("b.1", 4, snapshot=progress))["snapshot"].found == "continues at 40 %, 40 rows delivered"
    )
