"""Rows under transforms, and partial JSON updates, from the log of a real server to the tables of a target."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from replicator.assembly.pipeline import build_rendering
from replicator.assembly.planners import Planners
from replicator.config.load import parse_task
from replicator.decode.native.compiled_decoder import decoder_class
from replicator.errors import SourceError
from replicator.model.batch import Batch
from replicator.model.position import Position
from tests.integration.test_partial_json import DOCUMENTS, updates
from tests.support.decoded import new_file
from tests.support.site_pair import Pair

KEY = "0123456789abcdef"


def decoded(pair: Pair, file: str, transforms: dict[str, Any]) -> Iterator[Batch]:
    """What the task reads of a binlog file."""
    flavor: Any = pair.source.release.flavour
    source = {"type": flavor, "user": "u", "password": "env:P", "tables": [f"{pair.here}.*"]}
    rename = [*transforms.pop("rename", ()), {"tables": [f"{pair.here}.*"], "database": pair.there}]
    config = parse_task(
        {
            "name": "copy",
            "source": source,
            "sink": {"type": pair.target.release.flavour, "user": "w", "password": "env:P"},
            "transforms": {**transforms, "rename": rename},
        }
    )
    planners = Planners(config, pair.tables)
    decoder = decoder_class()(
        planners.stream,
        position=Position(file, 4),
        flavor=flavor,
        framing="file",
        server_error=lambda errno, state, text: SourceError("E2211", text),
        rendering=build_rendering(config),
    )
    raw = (pair.source.folder / "data" / file).read_bytes()[4:]
    yield from (batch for batch in [*decoder.feed(raw), *decoder.feed(b"")] if batch.records)


def deliver(pair: Pair, batches: Iterator[Batch]) -> None:
    sink = pair.opened()
    for batch in batches:
        sink.write(batch)
        if batch.boundary:
            sink.commit(batch.position)


def test_columns_names_masks_and_filters(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPL_MASK_KEY", KEY)
    pair.both("CREATE TABLE unrelated (id INT PRIMARY KEY)")
    pair.at_target(
        "CREATE TABLE people (number INT PRIMARY KEY, owner VARCHAR(63), card VARCHAR(19), pin VARCHAR(63), note TEXT,"
        " extra INT DEFAULT 7) CHARACTER SET utf8mb4"
    )
    file = new_file(pair.source)
    pair.at_source(
        "CREATE TABLE card (id INT PRIMARY KEY, owner VARCHAR(40), secret BLOB, card VARCHAR(19),"
        " pin SMALLINT, note TEXT) CHARACTER SET utf8mb4",
        "INSERT INTO card VALUES (1, 'ann', x'00FF', '4111 1111 1111 1234', 4321, 'a')",
        "INSERT INTO card VALUES (2, 'bob', NULL, 'é€😀x', 1, NULL)",
        "UPDATE card SET pin = 5 WHERE id = 2",
        "UPDATE card SET id = -2 WHERE id = 2",
        "UPDATE card SET id = 3 WHERE id = -2",
        "INSERT INTO card VALUES (4, NULL, NULL, NULL, NULL, 'gone'), (-5, 'filtered', NULL, NULL, NULL, NULL)",
        "DELETE FROM card WHERE id = 4",
    )
    table = [f"{pair.here}.card"]
    transforms = {
        "columns": [{"tables": table, "exclude": ["secret"]}],
        "rename": [{"tables": table, "columns": {"id": "number"}, "table": "people", "database": pair.there}],
        "filter": [{"tables": table, "where": "id > 0"}],
        "mask": [
            {"tables": table, "columns": ["owner"], "hash": "env:REPL_MASK_KEY", "encoding": "base64"},
            {"tables": table, "columns": ["card"], "keep_last": 2},
            {"tables": table, "columns": ["pin"], "fixed": "hidden"},
            {"tables": table, "columns": ["note"], "nullify": True},
        ],
    }
    deliver(pair, decoded(pair, file, transforms))
    first, second = pair.target.execute(f"SELECT * FROM {pair.there}.people ORDER BY number")
    assert first[0] == 1 and len(first[1]) == 44
    assert first[2:] == ("*" * 17 + "34", "hidden", None, 7)
    assert second[0] == 3 and second[2:] == ("**😀x", "hidden", None, 7)


def test_partial_json_updates(same: Pair) -> None:
    if same.source.release.flavour != "mysql":
        pytest.skip("MySQL's alone")
    file = new_file(same.source)
    create, *inserts = list(updates(random.Random(3), 0))
    changes = list(updates(random.Random(3), 500))[1 + len(DOCUMENTS) :]
    same.at_target(create)
    same.at_source(create, *inserts, "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'", *changes)
    deliver(same, decoded(same, file, {}))
    for text in ("*", "JSON_STORAGE_SIZE(j) > 0", "JSON_DEPTH(k)", "JSON_LENGTH(l)"):
        here, there = (
            server.execute(f"SELECT {text} FROM {database}.t ORDER BY id")
            for server, database in ((same.source, same.here), (same.target, same.there))
        )
        assert here == there
