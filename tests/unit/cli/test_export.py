"""`task export`, and outputs for scripts, over the API in memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.export import exported
from replicator.config.load import load_task, parse_task, to_data
from replicator.errors import ConfigError
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAMES = ("shop_a", "odd/näme", "crm")
LABELLED = f"{TASK}labels: {{env: prod, 'on': 'no', date: '2026-11-25'}}\n"


@pytest.fixture
def three(world: World) -> World:
    for name in NAMES:
        text = LABELLED.replace("name: copy_hot_item", f"name: {name}").replace("host: 127.0.0.1", "host: '10'")
        assert world.http.post("/tasks", content=text.encode()).status_code == 201
    return world


def configs(world: World) -> dict[str, object]:
    return {item["name"]: item["config"] for item in world.http.get("/tasks").json()["items"]}


@pytest.mark.parametrize("options", [[], ["--without-defaults"]])
def test_export_delete_apply_gives_equal_tasks(cli: Cli, three: World, tmp_path: Path, options: list[str]) -> None:
    before = configs(three)
    text = cli("task", "export", "--all", *options).stdout
    assert cli("task", "export", *sorted(NAMES), *options).stdout == text
    file = tmp_path / "all.yaml"
    file.write_text(text)
    assert cli("task", "delete", "*", "-y").exit_code == 0
    applied = cli("task", "apply", "-f", str(file))
    assert applied.exit_code == 0, applied.stderr
    assert configs(three) == before
    assert cli("task", "export", "--all", *options).stdout == text
    assert cli("task", "apply", "-f", str(file)).stdout.count("unchanged") == 3


def test_export_into_a_directory(cli: Cli, three: World, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tasks"
    assert cli("task", "export", "-l", "env=prod", "-d", str(folder)).exit_code == 0
    assert len(list(folder.iterdir())) == 3 and (folder / "odd%2Fn%C3%A4me.yaml").exists()
    assert cli("task", "apply", "-f", str(folder)).stdout.count("unchanged") == 3
    refused = cli("task", "export", "--all", "-d", str(folder / "crm.yaml" / "x"))
    assert refused.exit_code == 1 and "E1014" in refused.stderr


def test_what_is_exported_has_to_be_said(cli: Cli, three: World) -> None:
    assert cli("task", "export").exit_code == 2
    assert cli("task", "export", "crm", "--all").exit_code == 2
    assert cli("task", "export", "nobody").exit_code == 3


_TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@given(
    name=_TEXTS.filter(lambda text: text not in (".", "..")),
    user=st.text(min_size=1, max_size=12),
    defaults=st.booleans(),
)
def test_any_text_is_read_back(name: str, user: str, defaults: bool) -> None:
    data = to_data(load_task(TASK))
    data["name"], data["source"]["user"] = name, user
    try:
        config = parse_task(data)
    except ConfigError:
        return
    assert load_task(exported(to_data(config), defaults=defaults)) == config


def test_outputs_for_scripts(cli: Cli, three: World) -> None:
    rows = [row.split("\t") for row in cli("task", "get", "-o", "tsv", "--no-headers").stdout.splitlines()]
    assert [row[0] for row in rows] == sorted(NAMES) and len({len(row) for row in rows}) == 1
    assert cli("task", "get", "-o", "tsv").stdout.startswith("NAME\tSTATE\t")
    assert cli("task", "get", "-o", "jsonpath={.items[*].name}").stdout == " ".join(sorted(NAMES)) + "\n"
    assert cli("task", "get", "crm", "-o", "jsonpath={.labels.env}").stdout == "prod\n"
    assert cli("task", "describe", "crm", "-o", "jsonpath=$.config.source.port").stdout == "3306\n"
    assert cli("task", "versions", "crm", "-o", "jsonpath=$.items[*].number").stdout == "0\n"
    assert cli("task", "versions", "crm", "-o", "tsv").stdout.splitlines()[0].split("\t")[0] == "VERSION"
    wrong = cli("task", "get", "-o", "jsonpath={.items[")
    assert wrong.exit_code == 2 and "Wanted: a path" in wrong.stderr
    assert cli("task", "get", "-o", "xml").exit_code == 2
