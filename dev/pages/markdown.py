"""Cells of Markdown tables."""

from __future__ import annotations

import re


def linked(text: str) -> str:
    """Texts of the program name pages by the command that prints them; here they are links, too."""
    return re.sub(r"`replicator docs ([a-z][a-z-]+)((?: [a-z]+)*)`", r"[`replicator docs \1\2`](\1.md)", text)


def cell(text: str) -> str:
    return linked(" ".join(text.replace("|", "\\|").split()))


def table(*heads: str) -> list[str]:
    return [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]


def row(*cells: str) -> str:
    return f"| {' | '.join(map(cell, cells))} |"
