"""Every example of docs/transforms.md, from a real server to the memory twin of Kafka."""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from dev.servers.database import Database, MariaDB
from replicator.assembly import build_pipeline, build_source
from replicator.checkpoint.memory import MemoryStore
from replicator.config.load import parse_task
from replicator.ledger import Figures
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.memory import MemoryBroker, MemorySink

PAGE = Path(__file__).parents[2] / "docs" / "transforms.md"
KEY = "a key of the examples"
PARTITIONS = 4


class Example(NamedTuple):
    title: str
    sql: str
    rules: str
    records: str


def examples() -> Iterator[Example]:
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        for found in re.findall(r"```sql\n(.*?)```\n```yaml\n(.*?)```\n```text\n(.*?)```", section, re.DOTALL):
            yield Example(section.split("\n")[0], *found)


EXAMPLES = list(examples())


class Unseen:
    """An observer that looks away."""

    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: Exception) -> None:
        raise error

    def progress(self, checkpoint: Checkpoint, figures: Figures) -> None: ...


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(request.param)


@pytest.fixture
def shop(server: Database, request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("mariadb_database" if isinstance(server, MariaDB) else "database")


def records(server: Database, rules: dict[str, Any], tables: str, sql: str) -> list[str]:
    """What a task with these rules makes of the statements, in the page's notation."""
    statement = "SHOW MASTER STATUS" if isinstance(server, MariaDB) else "SHOW BINARY LOG STATUS"
    file, offset, *_ = server.execute(statement)[0]
    for each in filter(str.strip, sql.split(";\n")):
        server.execute(each)
    source = {
        "type": "mariadb" if isinstance(server, MariaDB) else "mysql",
        "port": server.port,
        "user": "replicator",
        "password": "env:PASSWORD",
        "tables": [tables],
        "start": {"file": file, "position": offset},
    }
    config = parse_task({"name": "t", "source": source, "sink": {"type": "stdout"}, "transforms": rules})
    broker = MemoryBroker(PARTITIONS)
    pipeline = build_pipeline(
        config,
        term=Term.unlimited("t"),
        store=MemoryStore(),
        observer=Unseen(),
        sink=MemorySink("t", broker),
    )
    pipeline.run(build_source(config).end_position)
    shown = []
    for record in broker.records:
        value = json.loads(record.value or b"{}")
        if "op" in value:  # neither a tombstone nor a schema change
            before, after = (json.dumps(value[image], separators=(",", ":")) for image in ("before", "after"))
            key = "null" if record.key is None else record.key.decode()
            shown.append(f"{record.topic}/{record.partition} {key} {value['op']} {before} {after}")
    return shown


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{number}-{each.title}" for number, each in enumerate(EXAMPLES)])
def test_the_page_says_what_happens(
    example: Example, server: Database, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", server.replicator[1])
    monkeypatch.setenv("MASK_KEY", KEY)

    def here(text: str) -> str:
        return re.sub(r"\bshop\b", shop, text)

    digest = b64encode(hmac.digest(KEY.encode(), b"ann@example.org", "sha256")).decode()
    made = records(server, yaml.safe_load(here(example.rules)), f"{shop}.*", here(example.sql))
    assert made == here(example.records).replace("HASH", digest).splitlines()


def test_every_transform_has_an_example() -> None:
    assert {example.title for example in EXAMPLES} == {
        "columns", "mask", "rename", "route", "filter", "operations", "partition_by"
    }  # fmt: skip
