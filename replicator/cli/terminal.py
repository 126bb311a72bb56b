"""Terminal capabilities, and text in columns that fits the terminal's width."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Sequence

import click


def wants_colour(choice: str) -> bool | None:
    """For click's `ctx.color`: True, False, or None when each stream decides by being a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if os.environ.get("FORCE_COLOR") not in (None, "", "0"):
        return True
    return None


def interactive() -> bool:
    """Somebody sits there who can be asked. A standard stream that was closed before the start is None."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


def width() -> int | None:
    """Columns of the terminal that shows stdout; None in a pipe, where nothing is cut."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else None


def cells(text: str) -> int:
    """Columns that `text` takes: East Asian wide characters take two, combining ones none, colours none."""
    plain = click.unstyle(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in plain
    )


def clean(text: object) -> str:
    """Text from elsewhere for a terminal: control characters (which could move the cursor) are shown, not sent."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(text))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, heading: bool = True) -> str:
    """Columns padded to their widest cell, two spaces apart, nothing at the line's end. "" without rows and heading."""
    lines = [list(header), *map(list, rows)] if heading else [list(row) for row in rows]
    if not lines:
        return ""
    widths = [max(cells(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = ("  ".join(cell + " " * (w - cells(cell)) for cell, w in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in padded) + "\n"


def fitting(header: Sequence[str], rows: Sequence[Sequence[str]], order: Sequence[str], limit: int | None) -> list[int]:
    """The columns that fit `limit`, in their place: those are given up first that stand last in `order` (most important
    first). The first in `order` always stays."""
    kept = list(range(len(header)))
    for name in reversed(order[1:]):
        need = sum(max(cells(line[column]) for line in [header, *rows]) + 2 for column in kept) - 2
        if limit is None or need <= limit:
            break
        kept.remove(list(header).index(name))
    return kept


_PIECE = re.compile(r"\x1b\[[0-9;]*m|.", re.DOTALL)


def shortened(line: str, limit: int | None) -> str:
    """`line` in at most `limit` columns, with `…` at its end where there was more. Colours take no column and end."""
    if limit is None or cells(line) <= limit:
        return line
    kept, taken = [], 0
    for piece in _PIECE.findall(line):
        size = cells(piece)
        if taken + size > limit - 1:
            break
        kept.append(piece)
        taken += size
    text = "".join(kept)
    return f"{text}…" + ("\x1b[0m" if "\x1b[" in text else "")
