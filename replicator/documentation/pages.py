"""Finds the documentation that comes with the program, and sections of its pages.

A wheel has docs/ and deploy/ inside of the package (setup.py); in a clone they are next to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_PACKAGE: Final = Path(__file__).resolve().parent.parent
NAMES: Final = {
    "prometheus-rules": "deploy/alerts.yaml",
    "accounts": "deploy/mysql-accounts.sql",
    "schema": "docs/task.schema.json",
}
"""Other files than pages, by a short name."""


class Section(NamedTuple):
    """level: number of # of its heading; lines: with the heading and with the sections below it."""

    heading: str
    level: int
    lines: list[str]


def root() -> Path:
    """The folder that has docs/ and deploy/."""
    return _PACKAGE if (_PACKAGE / "docs").is_dir() else _PACKAGE.parent


def pages() -> dict[str, Path]:
    """By name, README first: `operations` -> .../docs/operations.md."""
    found = sorted((root() / "docs").glob("*.md"), key=lambda path: (path.stem != "README", path.stem))
    return {path.stem: path for path in found}


def find(name: str) -> Path | None:
    """A page or file as messages, links and people name it: `operations`, `docs/operations.md`, `alerts`,
    `deploy/alerts.yaml`, `task.schema.json`. None: there is no such file."""
    page = pages().get(name.removeprefix("docs/").removesuffix(".md"))
    if page is not None:
        return page
    inside = NAMES.get(name, name[:200])
    folders = [root() / "docs", root() / "deploy"]
    for path in (root() / inside, root() / "docs" / inside):
        # Only what is documentation: not ../../etc, and in a clone not the sources.
        if path.is_file() and any(path.resolve().is_relative_to(folder.resolve()) for folder in folders):
            return path
    return None


def title(path: Path) -> str:
    return next(iter(sections(path.read_text(encoding="utf-8")))).heading


def sections(text: str) -> Iterator[Section]:
    """Every section, in the order of the page. Lines of code that begin with # are no headings."""
    lines, code = text.splitlines(), False
    marks = []
    for number, line in enumerate(lines):
        code ^= line.startswith("```")
        heading = None if code else re.match(r"(#+) +(.*)", line)
        if heading:
            marks.append((number, len(heading[1]), heading[2]))
    for index, (number, level, heading_text) in enumerate(marks):
        end = next((later for later, deep, _ in marks[index + 1 :] if deep <= level), len(lines))
        yield Section(heading_text, level, lines[number:end])


def anchor(heading: str) -> str:
    """What a link names the section by, as GitHub makes it: `Lag and outages` -> `lag-and-outages`."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def anchors(text: str) -> list[str]:
    """One for each heading, in order; a repeated one ends with -1, -2."""
    found: list[str] = []
    times: dict[str, int] = {}
    for section in sections(text):
        name = anchor(section.heading)
        count = times.get(name, 0)
        times[name] = count + 1
        found.append(f"{name}-{count}" if count else name)
    return found


def matching(text: str, words: str) -> list[Section]:
    """The sections whose heading has all `words`, without those inside of another one that is given."""
    found: list[Section] = []
    inside: set[str] = set()
    for section in sections(text):
        if all(word in section.heading.lower() for word in words.lower().split()) and section.heading not in inside:
            found.append(section)
            inside |= {below.heading for below in sections("\n".join(section.lines))}
    return found


def mentions(code: str) -> list[tuple[str, str]]:
    """(page, heading) of the smallest sections that name an error code, without the table of codes."""
    found = []
    for name, path in pages().items():
        if name in ("README", "errors", "faults"):
            continue
        for section in sections(path.read_text(encoding="utf-8")):
            if section.level == 1:
                continue
            below = next(sections("\n".join(section.lines[1:])), None)
            own = section.lines if below is None else section.lines[: section.lines.index(below.lines[0], 1)]
            if any(re.search(rf"\b{code}\b", line) for line in own):
                found.append((name, section.heading))
    return found
