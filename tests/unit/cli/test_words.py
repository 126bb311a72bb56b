"""explain, schema, completion, version, and text in columns."""

from __future__ import annotations

import json

import pytest

from replicator.cli import terminal
from replicator.codes import CODES
from replicator.config import json_schema
from tests.unit.cli.conftest import Cli


def test_explain_a_key(cli: Cli) -> None:
    text = cli("explain", "task.sink.delivery").stdout
    assert text.startswith("delivery <exactly_once | at_least_once>  default: exactly_once\n")
    text = cli("explain").stdout
    assert "name <string>  required" in text
    assert "type <kafka | file | stdout | mysql | mariadb>  required" in cli("explain", "sink").stdout
    assert "start <latest | earliest or mapping>  default: latest" in cli("explain", "source.mysql").stdout
    assert "position <integer from 4>  required" in cli("explain", "source.start").stdout


@pytest.mark.parametrize("code", sorted(CODES))
def test_explain_every_code(cli: Cli, code: str) -> None:
    assert CODES[code].meaning in cli("explain", code.lower()).stdout


@pytest.mark.parametrize(("typed", "meant"), [("prot", "source.port"), ("delivery", "sink.delivery")])
def test_explain_suggests(cli: Cli, typed: str, meant: str) -> None:
    result = cli("explain", typed)
    assert result.exit_code == 2 and f"Did you mean {meant}" in result.stderr
    assert "There are E2101, E2102" in cli("explain", "e2199").stderr


def test_schema(cli: Cli) -> None:
    assert cli("schema").stdout == json_schema.text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(cli: Cli, shell: str) -> None:
    assert "_REPLICATOR_COMPLETE" in cli("completion", shell).stdout


def test_version(cli: Cli) -> None:
    assert json.loads(cli("version", "-o", "json").stdout)["kind"] == "Version"
    assert "kafka-python 3." in cli("version").stdout
    assert cli("--version").stdout == cli("version").stdout


def test_columns_are_padded_by_what_is_seen() -> None:
    text = terminal.table(["A", "B"], [["\x1b[32mgreen\x1b[0m", "1"], ["商品", "2"]])
    assert text.splitlines() == ["A      B", "\x1b[32mgreen\x1b[0m  1", "商品   2"]
    assert terminal.table(["A"], [], heading=False) == ""


def test_the_least_important_columns_go_first() -> None:
    header, rows, order = ["A", "B", "C"], [["aaaa", "bbbb", "cccc"]], ("B", "A", "C")
    assert terminal.fitting(header, rows, order, None) == [0, 1, 2]
    assert terminal.fitting(header, rows, order, 16) == [0, 1, 2]
    assert terminal.fitting(header, rows, order, 15) == [0, 1]
    assert terminal.fitting(header, rows, order, 5) == [1]
    assert terminal.fitting(header, rows, order, 1) == [1]


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert terminal.clean("a\x1b[2Jb\n") == "a\\x1b[2Jb\\n"


def test_explain_a_section_by_type(cli: Cli) -> None:
    """`sink` names the types and their keys; each type has only its own."""
    text = cli("explain", "sink").stdout
    assert "kafka: topic, format" in text and "mariadb: host, port" in text and "file: topic" in text
    kafka, mysql = cli("explain", "sink.kafka").stdout, cli("explain", "sink", "--type", "mysql").stdout
    assert "bootstrap_servers <list" in kafka and "conflict <" not in kafka
    assert "conflict <" in mysql and "bootstrap_servers" not in mysql
    assert cli("explain", "task.sink.mysql.conflict").stdout.startswith("conflict <")
    assert "earliest" in cli("explain", "source.start").stdout
    assert cli("explain", "sink.kafka.conflict").exit_code == 2, "a key of another type"
    refused = cli("explain", "sink", "--type", "oracle")
    assert (refused.exit_code, "kafka, file, stdout, mysql, mariadb" in refused.stderr) == (2, True)
    assert "belongs to source or sink" in cli("explain", "transforms", "--type", "kafka").stderr
