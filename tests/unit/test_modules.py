"""The size of files, and that no two modules import each other: what import contracts can't say."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

from dev.paths import TREE

MOST_LINES: Final = 500
_PRODUCT: Final = ("replicator", "core", "server", "monitor")
_FOLDERS: Final = (*_PRODUCT, "dev", "tests", "typings")

EXCEPTIONS: Final[dict[str, str]] = {}
"""File -> why it may be longer than `MOST_LINES`."""

UPWARDS: Final = {"dev.golden": "compares what the golden tests have recorded, by their rules"}
"""Module of dev -> why it imports tests."""


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (TREE / folder).rglob("*.py*") if path.suffix != ".pyc")


def _name(path: Path) -> str:
    return ".".join(path.relative_to(TREE).with_suffix("").parts).removesuffix(".__init__")


def _imports(path: Path, known: set[str]) -> set[str]:
    """Modules of ours that a file imports anywhere: inside functions and for types, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{each.name}" for each in node.names}
            found |= (names & known) | ({node.module} if names - known else set())
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found & known - {_name(path)}


def test_no_file_is_longer_than_500_lines() -> None:
    sources = [path for path in _files(*_FOLDERS) if path.suffix in (".py", ".pyx", ".pxd", ".pyi")]
    lines = {str(path.relative_to(TREE)): len(path.read_text().splitlines()) for path in sources}
    long = {name: count for name, count in lines.items() if count > MOST_LINES}
    assert long.keys() == EXCEPTIONS.keys(), f"split these, or name them with a reason in EXCEPTIONS: {long}"


def test_no_two_modules_import_each_other() -> None:
    paths = {_name(path): path for path in _files(*_PRODUCT, "dev", "tests") if path.suffix == ".py"}
    imports = {name: _imports(path, set(paths)) for name, path in paths.items()}
    mutual = [(a, b) for a, found in imports.items() for b in found if a < b and a in imports[b]]
    assert not mutual, mutual


def test_layers_of_the_tree() -> None:
    """The product imports neither dev nor tests, and dev imports no tests: neither is installed with it."""
    allowed = {**dict.fromkeys(_PRODUCT, _PRODUCT), "dev": (*_PRODUCT, "dev")}
    paths = {_name(path): path for path in _files(*_FOLDERS) if path.suffix == ".py"}
    upwards = [
        (name, found)
        for name, path in paths.items()
        if name not in UPWARDS
        for found in sorted(_imports(path, set(paths)))
        if found.split(".")[0] not in allowed.get(name.split(".")[0], _FOLDERS)
    ]
    assert not upwards, upwards


def test_every_module_says_what_it_is() -> None:
    """The first line of a module is one sentence; packages that hold nothing else may be empty."""
    silent = [
        str(path.relative_to(TREE))
        for path in _files(*_PRODUCT, "dev")
        if path.suffix == ".py" and path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent, silent
