"""Columns with constants, and how they become a part of keys."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import fastavro
import msgspec
import pytest

from replicator.assembly.pipeline import build_rendering
from replicator.assembly.planners import Planners
from replicator.config.load import parse_task
from replicator.config.task import TaskConfig
from replicator.decode.native.compiled_decoder import decoder_class
from replicator.encode.avro.registry import Registry
from replicator.errors import ConfigError, DecodeError
from replicator.model.position import Position
from replicator.model.target_table import Shard
from replicator.transform.chain import Chain
from tests.unit.decode.binlog_writer import records, server_error
from tests.unit.transform.changes import ANN, BOB, USERS, Script, images, keys, run, task, values

SHARDS = [msgspec.structs.replace(USERS, database="shop", name=f"user_{number:02d}") for number in (0, 31)]
BOTH = Script().change(SHARDS[0], "insert", ANN).change(SHARDS[1], "update", ANN, BOB).change(SHARDS[1], "delete", BOB)
SHARD = {"match": r"(\w+)\.user_(?P<number>\d+)", "columns": {"db": "$1", "shard": "s${number}"}, "key": True}
REGION = {"tables": ["shop.*"], "columns": {"region": 'é"'}}


def test_values_and_keys() -> None:
    made = run(task(add=[SHARD, REGION]), BOTH)
    new = {"db": "shop", "shard": "s31", "region": 'é"'}
    assert images(made)[0][2] == dict(zip(("id", "email", "age", "city"), ANN, strict=True)) | new | {"shard": "s00"}
    assert images(made)[-1][1] == dict(zip(("id", "email", "age", "city"), BOB, strict=True)) | new
    assert keys(made)[0] == {"id": 1, "db": "shop", "shard": "s00"}
    assert keys(made)[-1] == {"id": 2, "db": "shop", "shard": "s31"}


@pytest.mark.parametrize("format_", ["maxwell", "canal"])
def test_other_formats(format_: str) -> None:
    made = [value for value in values(run(task(format_, add=[SHARD, REGION]), BOTH)) if value is not None]
    rows = [value["data"] if format_ == "maxwell" else value["data"][0] for value in made]
    assert [row["shard"] for row in rows][:1] == ["s00"] and {row["region"] for row in rows} == {'é"'}
    assert "shard" not in (made[1].get("old") or {}), "it never changes"


def test_rules_that_do_not_fit() -> None:
    with pytest.raises(DecodeError, match=r"E2310.*transforms\.add\[0\].*'Email'"):
        run(task(add=[{"tables": ["shop.*"], "columns": {"Email": "x"}}]), BOTH)
    with pytest.raises(DecodeError, match=r"E2310.*'region'"):
        run(task(add=[REGION, REGION]), BOTH)
    bare = msgspec.structs.replace(SHARDS[0], primary_key=())
    with pytest.raises(DecodeError, match=r"E2310.*key of shop\.user_00, which has none"):
        run(task(add=[SHARD]), Script().change(bare, "insert", ANN))
    with pytest.raises(DecodeError, match=r"E2310.*64 characters.*up to 63"):
        run(task(add=[{"tables": ["shop.*"], "columns": {"x": "y" * 64}}]), BOTH)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"columns": {"a": "b"}}, "tables or match"),
        ({"tables": ["a.b"], "match": "a.b", "columns": {"a": "b"}}, "tables or match"),
        ({"match": "a(.)", "columns": {"a": "$2"}}, r"\$2 is not a group"),
        ({"tables": ["a.b"], "columns": {"a": "x", "A": "y"}}, "two columns of one name"),
        ({"tables": ["a.b"], "columns": {}}, "at least one"),
    ],
)
def test_rules_that_are_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        task(add=[rule])


def test_keys_disjoint_is_for_database_sinks() -> None:
    with pytest.raises(ConfigError, match=r"E1003.*transforms\.rename\.keys"):
        task(rename=[{"tables": ["shop.*"], "table": "user", "keys": "disjoint"}])


def test_a_dollar_is_text_without_a_regular_expression() -> None:
    made = run(task(add=[{"tables": ["shop.*"], "columns": {"x": "$1"}}]), Script().change(USERS, "insert", ANN))
    assert images(made)[0][2]["x"] == "$1"


def test_what_tells_merged_tables_apart() -> None:
    chain = Chain(task(add=[SHARD, REGION]).transforms)
    bare = msgspec.structs.replace(SHARDS[0], columns=())
    assert chain.shard(bare) == Shard(("db", "shard"), ("shop", "s00"))
    assert chain.shard(USERS) is None
    assert chain.added(bare) == [("db", True), ("shard", True), ("region", False)]


def compiled(config: TaskConfig, script: Script) -> list[tuple[Any, ...]]:
    decoder = decoder_class()(
        Planners(config).stream,
        position=Position("binlog.000001", 4),
        flavor="mysql",
        framing="file",
        server_error=server_error,
        rendering=build_rendering(config),
        clock=lambda: 1_000_000_000,
    )
    return [record[:3] for record in records([*decoder.feed(script.raw), *decoder.feed(b"")])]


def _avro_task() -> TaskConfig:
    options = {"converter": "avro", "schema_registry": {"url": "http://registry:8081"}}
    source = {"type": "mysql", "user": "u", "password": "env:P", "tables": ["shop.*"]}
    sink = {"type": "stdout", "format": "debezium", "debezium": options}
    return parse_task({"name": "t", "source": source, "sink": sink, "transforms": {"add": [SHARD, REGION]}})


def test_schemas_and_values_in_avro(monkeypatch: pytest.MonkeyPatch) -> None:
    """By both decoders. The columns are strings that are never null, in keys and rows."""
    book: list[str] = []

    def register(self: Registry, subject: str, schema: str) -> int:
        book.extend([schema] if schema not in book else [])
        return book.index(schema)

    monkeypatch.setattr(Registry, "id", register)
    made = run(_avro_task(), BOTH)
    assert compiled(_avro_task(), BOTH) == [record[:3] for record in made]

    def read(data: bytes | None) -> Any:
        assert data is not None
        schema = fastavro.parse_schema(json.loads(book[int.from_bytes(data[1:5], "big")]))
        return fastavro.schemaless_reader(BytesIO(data[5:]), schema, None)

    assert read(made[0][1]) == {"id": 1, "db": "shop", "shard": "s00"}
    row = read(made[0][2])["after"]
    assert (row["db"], row["shard"], row["region"]) == ("shop", "s00", 'é"')
    fields = {field["name"]: field["type"] for field in json.loads(book[0])["fields"]}
    assert fields == {"id": "int", "db": "string", "shard": "string"}
