"""The format that docs/formats.md shows as an example, run over a recorded binlog."""

from __future__ import annotations

import importlib.util
from typing import Any

from replicator.config.task import StdoutSink
from replicator.decode.decoder import BinlogDecoder
from replicator.errors import ReplicatorError
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.table import Table
from tests.golden.compare import HERE, Variation
from tests.golden.recording import Recordings

ROOT = HERE.parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "changes_format.py"


def _example() -> Any:
    spec = importlib.util.spec_from_file_location("changes_format", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_writes_what_it_says(recordings: Recordings) -> None:
    form = _example().Changes("example", StdoutSink(type="stdout"), "mysql")

    def planner(table: Table) -> TablePlan:
        plan: TablePlan = form.plan(table, table.qualified)
        return plan

    (file,) = recordings.files(Variation("vector", "example", "", "vector.sql", {}))
    decoder = BinlogDecoder(
        planner, position=Position(file.name, 4), flavor="mysql", framing="file", server_error=_unexpected
    )
    found = [record for batch in decoder.feed(file.read_bytes()[4:]) for record in batch.records]
    values = [(record[0], record[1], record[2]) for record in found]
    assert values[0] == ("zoov.before_v", b'{"id":1}', b'{"table":"zoov.before_v","op":"insert","row":{"id":1,"v":1}}')
    assert {b'"op":"insert"', b'"op":"update"', b'"op":"delete"'} <= {
        value[value.index(b'"op"') : value.index(b',"row"')] for _, _, value in values if value
    }


def _unexpected(errno: int, sqlstate: str, message: str) -> ReplicatorError:
    raise AssertionError(message)


def test_the_documentation_shows_it() -> None:
    assert f"({EXAMPLE.relative_to(ROOT / 'docs')})" in (ROOT / "docs" / "formats.md").read_text()
    assert len(EXAMPLE.read_text().splitlines()) <= 50
