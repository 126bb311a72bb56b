from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from replicator.config.json_schema import schema, text
from replicator.config.load import load_task
from replicator.errors import ConfigError
from tests.unit.config.test_load import GOOD

PUBLISHED = Path(__file__).parents[3] / "docs" / "task.schema.json"


def test_the_published_schema_is_current() -> None:
    assert PUBLISHED.read_text() == text(), "run: make docs"


def test_it_is_a_schema_and_the_documented_task_satisfies_it() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(yaml.safe_load(GOOD), schema())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("port: 3306", "port: '3306'"),
        ("port: 3306", "port: true"),
        ("port: 3306", "prot: 3306"),
        ("type: kafka", "type: kafak"),
        ("start: latest", "start: soon"),
        ("env:REPL_PASSWORD", "hunter2"),
    ],
)
def test_schema_and_loader_refuse_the_same(written: str, meant: str) -> None:
    bad = GOOD.replace(written, meant)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(bad), schema())
    with pytest.raises(ConfigError):
        load_task(bad)
