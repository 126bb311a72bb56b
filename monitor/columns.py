"""Columns of the tasks table."""

from __future__ import annotations

from typing import Final

import msgspec


class Column(msgspec.Struct, frozen=True):
    """
    Attributes:
        name: class of its cells; in the address it is the order, unless `order` is another one.
        width: of its grid track.
        shown: unless the browser has chosen others.
        number: aligned at the right.
        key: letter that, with shift, sorts by it.
    """

    name: str
    title: str
    width: str
    shown: bool = True
    number: bool = False
    key: str = ""
    order: str = ""

    @property
    def by(self) -> str:
        return self.order or self.name


COLUMNS: Final = (
    Column("name", "Task", "minmax(0, 2.2fr)", key="N"),
    Column("state", "State", "minmax(8.8rem, 1.5fr)", key="S"),
    Column("route", "Source and sink", "minmax(0, 2fr)", order="source"),
    Column("host", "Host", "minmax(0, 1.2fr)", key="H"),
    Column("standbys", "Standbys", "5.5rem", shown=False, number=True),
    Column("lag", "Lag", "4.6rem", number=True, key="L"),
    Column("behind", "Behind", "5.4rem", shown=False, number=True, key="B"),
    Column("rate", "Rows/s", "7.6rem", number=True, key="R"),
    Column("event", "Last event", "4.4rem", number=True, key="E"),
    Column("position", "Position", "minmax(0, 10.6rem)", key="P"),
    Column("checkpoint", "Checkpoint", "4.8rem", number=True, key="C"),
    Column("epoch", "Epoch", "6rem", shown=False, number=True),
    Column("headroom", "Headroom", "6rem", shown=False, number=True),
    Column("takeover", "Take-over", "6.2rem", shown=False, number=True, key="T"),
    Column("version", "Version", "5rem", shown=False),
)
