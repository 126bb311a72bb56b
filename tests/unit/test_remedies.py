"""What remedies and documents tell people to type exists: commands, their options, keys of the configuration."""

from __future__ import annotations

import ast
import functools
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import pytest
from pydantic import BaseModel

from dev.paths import TREE
from replicator.cli.main import main
from replicator.codes import CODES
from replicator.config.reference import SECTIONS, types
from replicator.config.task import TaskConfig

SOURCES = sorted(path for part in ("replicator", "core", "server", "monitor") for path in (TREE / part).rglob("*.py"))
PAGES = [TREE / "README.md", *sorted((TREE / "docs").glob("*.md"))]
PLACEHOLDER = "X1"
_QUOTED = re.compile(r"`((?:replicator|task) [a-z][^`]*)`")
_KEY = re.compile(r"\b(?:source|sink|transforms)(?:\.[a-z][a-z_0-9]*)+(?![\w.(\[/{-])")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
_FOREIGN = re.compile(r"(?:mysqlbinlog|mysql|mariadb|kafka-[\w.-]+|kafka-\w+\.sh|docker|pip|curl|ulimit)\b[^.;`]*")
_NOT_KEYS = frozenset(
    {
        *("source.name", "source.query", "source.table", "source.version"),  # of Debezium's records
        *("source.binlog_format", "sink.reachable"),  # subjects of findings
    }
)
_FILES = frozenset({"py", "sh", "md", "sqlite", "yaml", "json"})


class Said(NamedTuple):
    """Strings of a module, each behind the line that it is in: all, and those that are given as `fix=...`."""

    texts: list[tuple[int, str]]
    fixes: list[tuple[int, str]]


def said(tree: ast.Module) -> Said:
    """What an f-string fills in is a placeholder in `texts`."""
    found, inside = Said([], []), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            parts = [part.value if isinstance(part, ast.Constant) else PLACEHOLDER for part in node.values]
            found.texts.append((node.lineno, "".join(map(str, parts))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            found.texts.append((node.lineno, node.value))
        elif isinstance(node, ast.keyword) and node.arg == "fix":
            strings = [part for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            found.fixes.extend((part.lineno, part.value) for part in strings if isinstance(part.value, str))
    return found


@functools.cache
def modules() -> dict[str, Said]:
    """Each is read once, for all tests."""
    return {str(path.relative_to(TREE)): said(ast.parse(path.read_text())) for path in SOURCES}


def strings() -> list[tuple[str, str]]:
    return [(f"{path}:{line}", text) for path, module in modules().items() for line, text in module.texts]


def wrong_command(text: str) -> str:
    """Why a command can't be typed; "" when it can. Arguments may be missing, where none is known."""
    words = shlex.split(text.replace("...", ""), comments=True)
    words = words[1:] if words[:1] == ["replicator"] else words
    command: click.Command = main
    context = click.Context(main, info_name="replicator")
    while isinstance(command, click.Group) and words and not (command.invoke_without_command and words[0][:1] == "-"):
        found = command.get_command(context, words[0])
        if found is None:
            return f"no command '{words[0]}'"
        context = click.Context(found, info_name=words[0], parent=context)
        command, words = found, words[1:]
    try:
        _, rest, _ = command.make_parser(context).parse_args(words)
    except click.UsageError as error:
        return error.format_message()
    return f"too many arguments: {rest}" if rest else ""


def options(command: click.Command = main) -> set[str]:
    found = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            found |= options(below) if below is not None else set()
    return found | {"--help"}


def is_key(path: str) -> bool:
    """`sink.kafka.topic` is one, as `explain` names those of a type."""
    section, _, rest = path.partition(".")
    if section in SECTIONS and rest.partition(".")[0] in types(section):
        path = f"{section}.{rest.partition('.')[2] or 'type'}"
    models: list[Any] = [TaskConfig]
    for name in path.split("."):
        fields = [model.model_fields[name].annotation for model in models if name in getattr(model, "model_fields", {})]
        if not fields:
            return False
        models = [model for field in fields for model in _models(field)]
        if any(_is_mapping(field) for field in fields):
            return True
    return True


def _models(kind: Any) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for part in get_args(kind) for model in _models(part)]


def _is_mapping(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) is dict or any(_is_mapping(part) for part in get_args(kind))


def test_every_command_that_a_string_names_can_be_typed() -> None:
    named = [(where, text) for where, string in strings() for text in _QUOTED.findall(string)]
    assert len(named) > 30, "they are still found"
    assert [(where, text, why) for where, text in named if (why := wrong_command(text.split(" | ")[0]))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_can_be_typed(page: Path) -> None:
    text = page.read_text()
    lines = [line.strip().removeprefix("$ ") for block in text.split("```")[1::2] for line in block.splitlines()]
    named = [line for line in lines if line.startswith("replicator ") and not line.endswith("\\")]
    named += [one for one in _QUOTED.findall(text) if one.startswith("replicator ")]
    assert [(line, why) for line in named if (why := wrong_command(line.split(" | ")[0].split(" >")[0]))] == []


def test_every_option_that_a_remedy_names_is_one() -> None:
    known = options()
    remedies = [(code, entry.remedy) for code, entry in CODES.items()]
    remedies += [(where, text) for where, text in fixes()]
    wrong = [
        (where, option)
        for where, text in remedies
        for option in _OPTION.findall(_FOREIGN.sub("", text))
        if option not in known
    ]
    assert wrong == []


def fixes() -> list[tuple[str, str]]:
    return [(f"{path}:{line}", text) for path, module in modules().items() for line, text in module.fixes]


def test_every_key_that_a_string_names_is_in_the_schema() -> None:
    named = {
        (where, key)
        for where, string in strings()
        if " " in string and not string.lstrip().startswith(("SELECT", "import "))
        for key in _KEY.findall(string)
        if key.rpartition(".")[2] not in _FILES
    }
    assert len(named) > 50, "they are still found"
    assert sorted((where, key) for where, key in named if key not in _NOT_KEYS and not is_key(key)) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("replicator task resume copy", ""),
        ("task skip NAME --dry-run", ""),
        ("replicator task unskip NAME", "no command 'unskip'"),
        ("replicator task skip NAME --transactions X", "No such option"),
        ("replicator task history A B", "too many arguments"),
        ("replicator task position set --file X", ""),
        ("replicator core --zookeeper zk1:2181", ""),
        ("replicator core --zoo zk1:2181", "No such option"),
        ("replicator core stop --host X", ""),
        ("replicator core halt", "no command 'halt'"),
    ],
)
def test_the_parser_tells_what_is_wrong(text: str, why: str) -> None:
    assert wrong_command(text).startswith(why) and bool(wrong_command(text)) == bool(why)


@pytest.mark.parametrize(
    ("key", "there"),
    [
        ("source.tls.ca", True),
        ("sink.debezium.schema_registry.url", True),
        ("sink.path", True),
        ("source.quarantine", False),
        ("sink.no_such_key", False),
    ],
)
def test_keys_are_looked_up_in_every_kind_of_sink(key: str, there: bool) -> None:
    assert is_key(key) is there
