"""Identifies the server whose binlog a position belongs to."""

from __future__ import annotations

import re
from typing import Final

import msgspec

BY_ID: Final = "server_id "
"""`Origin.server` of servers without a UUID begins with it: it may be that of two servers."""
_TEXT = re.compile(r"(?P<server>[^@]*)(@(?P<created>\d{1,12})(/(?P<at>\d{1,18}):(?P<time>\d{1,12}))?)?")


class Ended(msgspec.Struct, frozen=True):
    """The event that ends at a position: its first byte in the file, and its time, s since the epoch."""

    at: int
    time: int


class Origin(msgspec.Struct, frozen=True):
    """The server, the binlog file among all that it ever wrote under one name, and what the file holds there.

    Attributes:
        server: MySQL: server_uuid; MariaDB, which has none: `server_id N`. "" when not known.
        created: when the position's file was created, s since the epoch, as its FORMAT_DESCRIPTION event says: after
            RESET BINARY LOGS, or on a restored copy, there is another file of that name. None when not known; 0 when
            the file may be another server's, and the position's GTIDs alone say where it is on this one.
        ended: None when not known.
    """

    server: str
    created: int | None = None
    ended: Ended | None = None

    @staticmethod
    def parse(text: str) -> Origin:
        """Of `Position.server`: `SERVER[@CREATED[/AT:TIME]]`. What has another form is a server that there is not."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return Origin(text)
        created, at, time = match["created"], match["at"], match["time"]
        ended = Ended(int(at), int(time)) if at is not None else None
        return Origin(match["server"], int(created) if created is not None else None, ended)

    def __str__(self) -> str:
        created = "" if self.created is None else f"@{self.created}"
        return f"{self.server}{created}" + (f"/{self.ended.at}:{self.ended.time}" if created and self.ended else "")
