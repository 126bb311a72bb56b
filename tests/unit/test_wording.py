"""Words that user-facing text must not contain: plain technical English, as in the manuals of MySQL and Kafka.

User-facing are string literals of the product (error texts, remedies, CLI options), help texts of commands, the
dashboard's templates, README.md, CONTRIBUTING.md, deploy/ and docs/, with the texts in dev/pages that some of its pages
are made from. So are DESIGN.md files. Other docstrings and comments are not looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dev.paths import TREE

REFUSED: Final = re.compile(
    r"\b(anew|whoever|whosoever|heir|knocks?|mend(s|ed)?|somebody|nobody|anybody|everybody|stands?|standing|stood)\b"
    r"|\b(steer(s|ed)?|deeds?|to be had|go(es)? on|went on|of its own|bec(o|a)mes? of|without an end|told)\b"
    r"|\b(cut short|put back to|make a new task|as fast as it is|does not let|wants (a|no) login)\b"
    r"|\b(encrypted connections only|comes without|beyond measure|by order of|asks for the password)\b"
    r"|\bis none of\b|(?<!there )\bis no (address|browser|file|id|member|message|reply|server|template|version)\b"
    r"|(?<![/\w])(trail|beside)\b",
    re.I,
)
"""Write instead: again, the client that, its successor, probes, corrects, another process, no Core, is at or is a
contender for, controls, commands; available, continues, separate, is done with, unterminated, informed; position
history, next to; truncated, was restored to, create a new task, during each attempt, refuses, does not support,
requires a login; accepts only encrypted connections, lacks, is not a."""
PROSE: Final = re.compile(
    r"\b(ours|all the same|now and then|needs nothing|listens? nowhere|by hand|put in front|out of the way)\b"
    r"|\bto the byte\b|\bdates? that (is|are) none\b|\bwhat (goes|comes|is there)\b",
    re.I,
)
"""Refused in the pages for users, besides. Write instead: here, nevertheless, sometimes, needs no action, does not
listen on any port, manually, in addition; byte for byte, invalid dates."""
_KEYS: Final = {"mended", "nobody", "stood"}
"""Not text: a key of configurations of an earlier version, an account of Unix, an argument of a command."""

PRODUCT: Final = ("replicator", "core", "server", "monitor")
PAGES: Final = (
    *(TREE / name for name in ("README.md", "CONTRIBUTING.md", "docker-compose.yml")),
    *sorted((TREE / "docs").glob("*.md")),
    *sorted((TREE / "deploy").glob("mysql-*")),
    *sorted((TREE / "dev" / "pages").glob("*.py")),
)
FIGURES: Final = frozenset({"docs/performance.md"})
"""Ours are figures there."""
EXCEPTIONS: Final = {
    "docs/performance-history.md": "measurements as they were written down",
    "docs/faults.md": "findings of runs as they were written down (docs/faults.json, dev/faults)",
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
    templates = sorted((TREE / "monitor" / "templates").rglob("*.html"))
    designs = sorted(path for path in TREE.rglob("DESIGN.md") if not {".venv", "build"} & set(path.parts))
    yield from _lines(*templates, *PAGES, *designs)


def _lines(*paths: Path) -> Iterator[tuple[str, str]]:
    for path in paths:
        name = str(path.relative_to(TREE))
        if name not in EXCEPTIONS:
            yield from ((f"{name}:{number}", line) for number, line in enumerate(path.read_text().splitlines(), 1))


def _first_lines() -> Iterator[tuple[str, str]]:
    for folder in PRODUCT:
        for path in sorted((TREE / folder).rglob("*.py")):
            text = ast.get_docstring(ast.parse(path.read_text())) or ""
            yield f"{path.relative_to(TREE)}:1", " ".join(text.partition("\n\n")[0].split())


def _found(texts: Iterator[tuple[str, str]], refused: re.Pattern[str] = REFUSED) -> list[str]:
    return [f"{where}: {match[0]!r}" for where, text in texts if text not in _KEYS for match in refused.finditer(text)]


def test_user_facing_text_is_plain_english() -> None:
    found = _found(_texts())
    assert not found, "\n".join(found)


def test_pages_are_plain_english() -> None:
    pages = (path for path in PAGES if path.suffix == ".md" and str(path.relative_to(TREE)) not in FIGURES)
    found = _found(_lines(*pages), PROSE)
    assert not found, "\n".join(found)


def test_pages_link_to_files_that_exist() -> None:
    found = [
        f"{path.relative_to(TREE)}: {target}"
        for path in PAGES
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", path.read_text())
        if not (path.parent / target).exists()
    ]
    assert not found, "\n".join(found)


def test_pages_link_to_headings_that_exist() -> None:
    found = [
        f"{path.relative_to(TREE)}: {name}#{anchor}"
        for path in PAGES
        if path.suffix == ".md"
        for name, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", path.read_text())
        if anchor not in _anchors(path.parent / name if name else path)
    ]
    assert not found, "\n".join(found)


def _anchors(path: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.replace("`", "")).strip().lower().replace(" ", "-") for head in heads}


def test_first_lines_of_modules_are_plain_english() -> None:
    found = _found(_first_lines())
    assert not found, "\n".join(found)


def test_the_list_refuses() -> None:
    for text in (
        "it is decided anew", "Whoever answers", "somebody stands before us", "positions stand under that id",
        "the task goes on", "how to mend it", "nobody is promoted", "nothing is to be had", "in a place of its own",
        "a GTID event is cut short", "it was put back to an earlier state", "the listener wants no login",
        "what answers is no server", "make a new task behind it", "the node may still be standing",
    ):  # fmt: skip
        assert REFUSED.search(text), text
    assert not REFUSED.search("is on standby; the standby; renewed; recommended; understands")
    assert PROSE.search("The records of Debezium, to the byte") and PROSE.search("ours is the same")
