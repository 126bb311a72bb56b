"""Cells of Markdown tables."""

from __future__ import annotations


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def table(*heads: str) -> list[str]:
    return [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]


def row(*cells: str) -> str:
    return f"| {' | '.join(map(cell, cells))} |"
