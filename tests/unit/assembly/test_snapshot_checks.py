"""What `replicator check` says of a task's snapshot, of tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from replicator.assembly.snapshot_checks import check, check_names
from replicator.config.load import parse_task
from replicator.errors import SourceError, SourceUnavailable
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.snapshot import Bound, OpenTable, RowImages, SnapshotProgress
from replicator.pipeline.ports import AccessPath, Chunk, ConsistentViews, SourceSurvey, TableSize


class Tables:
    """A `SnapshotSource` and its reader. `keys`: by table; an error instead is raised. `rows_per_s`: of reading."""

    def __init__(self, keys: dict[str, tuple[str, ...] | Exception]) -> None:
        self.keys = keys
        self.closed = False
        self.told = SourceSurvey(proof="gtid_executed")
        self.paths: dict[str, AccessPath] = {}
        self.rows_per_s = 30_000
        self.refused: SourceError | None = None

    def open(self, server: str) -> Tables:
        return self

    def open_views(self, server: str, count: int, tables: Sequence[str]) -> ConsistentViews:
        raise AssertionError("nothing is locked for a check")

    def views_refused(self, tables: Sequence[str]) -> SourceError | None:
        assert sorted(tables) == sorted(self.keys)
        return self.refused

    def tables(self) -> Sequence[TableSize]:
        return [TableSize(table, 600_000, 45_000_000) for table in sorted(self.keys)]

    def settle(self, passed: Position) -> None:
        raise AssertionError("there is no stream")

    def load(self, enough: int) -> int:
        return 1

    def end(self) -> Position:
        raise AssertionError("nothing waits for the stream")

    def begin(self, table: str) -> OpenTable | None:
        key = self.keys[table]
        if isinstance(key, Exception):
            raise key
        return OpenTable(table, key)

    def cut(self, table: OpenTable, rows: int) -> Bound | None:
        raise AssertionError("no row is read")

    def read(self, table: OpenTable, most: int, passed: Position, end: Bound | None = None) -> Chunk:
        return Chunk(b"", RowImages(b"", range(most)), HERE, ("9",), False, 1, seconds=most / self.rows_per_s)

    def survey(self) -> SourceSurvey:
        return self.told

    def path(self, table: OpenTable) -> AccessPath:
        return self.paths.get(table.table, "range")

    def close(self) -> None:
        self.closed = True


ITEM = {"shop.item": ("id",)}
HERE = Position("b.1", 4)


def found(
    keys: dict[str, Any],
    position: Position | None = None,
    mode: str = "initial",
    source_is: dict[str, Any] | None = None,
    **snapshot: Any,
) -> dict[str, Finding]:
    """`source_is`: attributes of `Tables`."""
    source: dict[str, Any] = {"type": "mysql", "user": "u", "password": "env:X", "tables": ["shop.*"]}
    source |= {"snapshot": {"mode": mode, **snapshot}}
    config = parse_task({"name": "copy", "source": source, "sink": {"type": "stdout"}})
    tables = Tables(keys)
    for name, value in (source_is or {}).items():
        setattr(tables, name, value)
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
        "2 tables, about 1,200,000 rows, 90.0 MB by the statistics of the server; "
        "about 40 s at 30,000 rows/s (measured: reading shop.item)"
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
    assert told["snapshot_names"].severity == "warn" and "shop.log (where)" in told["snapshot_names"].found
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


@pytest.mark.parametrize(
    ("survey", "severity", "text", "fix"),
    [
        (SourceSurvey(), "ok", "until it is purged manually", ""),
        (
            SourceSurvey(3600.0, "binlog_expire_logs_seconds"),
            "ok",
            "kept for 60 min; the snapshot takes about 20 min",
            "",
        ),
        (
            SourceSurvey(600.0, "binlog_expire_logs_seconds"),
            "warn",
            "kept for 10 min; the snapshot takes about 20 min",
            "SET GLOBAL binlog_expire_logs_seconds = 86400",
        ),
        (SourceSurvey(600.0, "expire_logs_days"), "warn", "10 min", "SET GLOBAL expire_logs_days = 1"),
        (SourceSurvey(None, "", 2_000_000_000), "warn", "purged above 2.0 GB, whatever its age", "Raise that limit"),
    ],
)
def test_whether_the_binlog_outlasts_the_snapshot(survey: SourceSurvey, severity: str, text: str, fix: str) -> None:
    told = found(ITEM, source_is={"told": survey, "rows_per_s": 500})["snapshot_retention"]
    assert (told.severity, text in told.found, told.fix.startswith(fix)) == (severity, True, True), told


def test_what_proves_that_a_chunk_sees_everything() -> None:
    assert "gtid_executed proves" in found(ITEM)["snapshot_visibility"].found
    told = found(ITEM, source_is={"told": SourceSurvey(wait_s=11.0)})["snapshot_visibility"]
    assert told.severity == "warn" and "waits for up to 11 s" in told.found


def test_chunks_that_are_no_range_of_an_index() -> None:
    keys = {**ITEM, "shop.enum": ("kind",), "shop.set": ("kind",)}
    assert found(keys)["snapshot_plan"].severity == "ok"
    told = found(keys, source_is={"paths": {"shop.enum": "scan", "shop.set": "sort"}})["snapshot_plan"]
    assert told.severity == "warn" and told.found == (
        "each chunk sorts the rows that are left of shop.set: up to 45.0 MB of temporary space; "
        "each chunk reads the index from its beginning in shop.enum"
    )


def test_a_consistent_view() -> None:
    told = found(ITEM, consistent=True)
    assert told["snapshot_consistent"].severity == "ok" and "snapshot_visibility" not in told
    assert told["snapshot_view"].severity == "ok" and "undo log" in told["snapshot_view"].found


def test_a_consistent_view_below_which_rows_may_be_exchanged() -> None:
    told = found(ITEM, consistent=True, source_is={"told": SourceSurvey(proof="x", numbered=False)})
    assert told["snapshot_exchange"].severity == "warn" and "PROCESS" in told["snapshot_exchange"].fix
    assert "snapshot_exchange" not in found(ITEM, source_is={"told": SourceSurvey(proof="x", numbered=False)})


def test_a_consistent_view_that_is_refused() -> None:
    error = SourceError("E2226", "the storage engine of a table has no consistent views", found="x", fix="Convert it.")
    told = found(ITEM, consistent=True, source_is={"refused": error})["snapshot_consistent"]
    assert (told.severity, told.fix) == ("fail", "Convert it.") and told.found.startswith("E2226")


def test_a_consistent_view_that_is_open_for_hours() -> None:
    told = found({f"shop.t{n}": ("id",) for n in range(30)}, consistent=True, max_rows_per_s=1000)["snapshot_view"]
    assert told.severity == "warn" and "5 h" in told.found


def test_patterns_that_match_no_table() -> None:
    told = found(ITEM, tables=["shop.itme", "shop.*", "!shop.old", "other.*"], where={"shop.item": "id > 1"})
    assert "shop.itme (tables), other.* (tables)" in told["snapshot_names"].found
    assert "snapshot_names" not in found(ITEM, tables=["shop.*", "!shop.old"])


def test_names_that_apply_warns_of() -> None:
    def warned(keys: dict[str, Any], **snapshot: Any) -> list[Finding] | None:
        source = {"type": "mysql", "tables": ["shop.*"], "user": "u", "password": "env:P", "snapshot": snapshot}
        config = parse_task({"name": "copy", "source": source, "sink": {"type": "stdout"}})
        return check_names(config, Tables(keys))

    assert warned(ITEM, where={"shop.itme": "id > 1"})
    assert warned(ITEM, where={"shop.item": "id > 1"}) == [] == warned(ITEM, mode="never", tables=["shop.itme"])
