"""One error code with its texts, and how tables of them are written."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """area: the word after the code; title: a heading for the docs; meaning: why it happens;
    remedy: what to do when the place that raises it knows nothing better."""

    area: str
    title: str
    meaning: str
    remedy: str


def table(area: str, rows: dict[str, tuple[str, str, str]]) -> dict[str, Entry]:
    return {code: Entry(area, *row) for code, row in rows.items()}
