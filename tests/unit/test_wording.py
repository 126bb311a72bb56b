"""Words that user-facing text must not contain: plain technical English, as in the manuals of MySQL and Kafka.

User-facing are string literals of the product (error texts, remedies, CLI options), help texts of commands, the
dashboard's templates, README.md and docs/. Other docstrings and comments are not looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dev.paths import TREE

REFUSED: Final = re.compile(r"\b(anew|whoever|whosoever|heir|knocks?)\b|\bstands? (before|there|for|under|by)\b", re.I)
"""Write: again, the client that, its successor, probes; is a contender for, is at, is stored under, is on standby."""

PRODUCT: Final = ("replicator", "core", "server", "monitor")
EXCEPTIONS: Final = {
    "docs/performance-history.md": "measurements as they were written down",
}


def _literals(path: Path) -> Iterator[tuple[int, str]]:
    """Strings that are no docstrings, and docstrings of functions with a decorator: help texts of commands."""
    tree = ast.parse(path.read_text())
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.decorator_list and ast.get_docstring(node):
            continue
        body = getattr(node, "body", [])
        docstrings |= {
            id(each.value) for each in (body if isinstance(body, list) else []) if isinstance(each, ast.Expr)
        }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def _texts() -> Iterator[tuple[str, str]]:
    for folder in PRODUCT:
        for path in sorted((TREE / folder).rglob("*.py")):
            for line, text in _literals(path):
                yield f"{path.relative_to(TREE)}:{line}", text
    templates = sorted((TREE / "monitor" / "templates").glob("*"))
    for path in (*templates, TREE / "README.md", *sorted((TREE / "docs").glob("*.md"))):
        name = str(path.relative_to(TREE))
        if name not in EXCEPTIONS:
            yield from ((f"{name}:{number}", line) for number, line in enumerate(path.read_text().splitlines(), 1))


def test_user_facing_text_is_plain_english() -> None:
    found = [f"{where}: {match[0]!r}" for where, text in _texts() for match in REFUSED.finditer(text)]
    assert not found, "\n".join(found)


def test_the_list_refuses() -> None:
    for text in ("it is decided anew", "Whoever answers", "somebody stands before us", "positions stand under that id"):
        assert REFUSED.search(text), text
    assert not REFUSED.search("is on standby; the standby; renewed")
