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
from click.testing import CliRunner

from dev.servers.database import Database, MariaDB
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.assembly.task_checks import check_transforms
from replicator.checkpoint.memory_store import MemoryStore
from replicator.cli.main import main
from replicator.config.load import parse_task, to_data
from replicator.config.task import TaskConfig
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.sink.memory_sink import MemoryBroker, MemorySink
from tests.support.present import present

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

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None: ...


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(request.param)


@pytest.fixture
def shop(server: Database, request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("mariadb_database" if isinstance(server, MariaDB) else "database")


def task(server: Database, rules: dict[str, Any], **options: Any) -> TaskConfig:
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    source = {"type": kind, "port": server.port, "user": "replicator", "password": "env:PASSWORD", **options}
    return parse_task({"name": "t", "source": source, "sink": {"type": "stdout"}, "transforms": rules})


def records(server: Database, rules: dict[str, Any], tables: str, sql: str) -> list[str]:
    """What a task with these rules makes of the statements, in the page's notation."""
    file, offset = server.end_of_log()
    for each in filter(str.strip, sql.split(";\n")):
        server.execute(each)
    config = task(server, rules, tables=[tables], start={"file": file, "position": offset})
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
    monkeypatch.setenv("REPL_MASK_KEY", KEY)

    def here(text: str) -> str:
        return re.sub(r"\bshop\b", shop, text)

    digest = b64encode(hmac.digest(KEY.encode(), b"ann@example.org", "sha256")).decode()
    made = records(server, yaml.safe_load(here(example.rules)), f"{shop}.*", here(example.sql))
    assert made == here(example.records).replace("HASH", digest).splitlines()


def test_every_transform_has_an_example() -> None:
    assert {example.title for example in EXAMPLES} == {
        "columns", "mask", "rename", "add", "route", "filter", "operations", "partition_by"
    }  # fmt: skip


ZOO = """
CREATE TABLE {}.zoo (
 id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1, raw VARBINARY(5), price DECIMAL(12,3) UNSIGNED,
 kind ENUM('cat','it''s'), tags SET('a','b'), day DATE, at DATETIME(3), seen TIMESTAMP NULL, took TIME, doc JSON,
 n BIGINT UNSIGNED
)
"""


@pytest.mark.parametrize(
    ("rules", "finding", "wanted"),
    [
        ({"columns": [{"tables": ["{}.zoo"], "exclude": ["prize"]}]}, "fit", "'price'"),
        ({"mask": [{"tables": ["{}.zo"], "columns": ["name"], "fixed": ""}]}, "tables", "zoo"),
        ({"filter": [{"tables": ["{}.zoo"], "where": "kind = 'cet'"}]}, "fit", "'cat'"),
        ({"filter": [{"tables": ["{}.zoo"], "where": "raw = 'x'"}]}, "fit", "X'"),
        ({"filter": [{"tables": ["{}.zoo"], "where": "doc = '[]'"}]}, "fit", "NULL"),
    ],
)
def test_what_is_not_there_is_refused_before_the_task_is(
    server: Database, shop: str, monkeypatch: pytest.MonkeyPatch, rules: Any, finding: str, wanted: str, tmp_path: Path
) -> None:
    if isinstance(server, MariaDB) and "doc" in str(rules):
        pytest.skip("JSON is text on MariaDB")
    monkeypatch.setenv("PASSWORD", server.replicator[1])
    monkeypatch.setenv("REPLICATOR_TOKEN", "t" * 32)
    server.execute(ZOO.format(shop))
    config = task(server, json.loads(json.dumps(rules).replace("{}", shop)), tables=[f"{shop}.*"])
    bad = {each.id: each for each in check_transforms(config) or ()}[f"transforms.{finding}"]
    assert bad.severity == "fail"
    assert wanted in bad.wanted
    (tmp_path / "task.json").write_text(json.dumps(to_data(config)))
    applied = CliRunner().invoke(
        main, ["task", "apply", "-f", str(tmp_path / "task.json"), "--server", "http://127.0.0.1:1"]
    )
    assert applied.exit_code != 0
    assert "E1011" in applied.output


def test_what_fits_passes_and_an_unknown_source_is_not_asked(
    server: Database, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.execute(ZOO.format(shop))
    kinds = (
        "name = 'x' AND raw = X'00' AND price > 1.5 AND kind = 'it''s' AND tags <> 'a' AND day < '2026-01-01' AND "
        "at < '2026-01-01 00:00' AND seen < '2026-01-01' AND took > '-1:00:00' AND doc IS NULL AND n > 5"
    )
    rules = {"filter": [{"tables": [f"{shop}.zoo"], "where": kinds}]}
    monkeypatch.setenv("PASSWORD", server.replicator[1])
    (found,) = present(check_transforms(task(server, rules, tables=[f"{shop}.*"])))
    assert found.severity == "ok", found
    monkeypatch.setenv("PASSWORD", "another")
    assert check_transforms(task(server, rules, tables=[f"{shop}.*"])) is None
