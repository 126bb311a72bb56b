"""Whether the account may see the triggers of a table: information_schema hides them without the privilege TRIGGER."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from replicator.mysql.session import Session

_NAME: Final = r"`((?:[^`]|``)+)`"
_LINE: Final = re.compile(rf"(GRANT|REVOKE) (.+?) ON (?:\*\.\*|{_NAME}\.(?:\*|{_NAME})) (?:TO|FROM) ")
_COLUMNS: Final = re.compile(r"\([^)]*\)")
_WANTED: Final = frozenset({"ALL PRIVILEGES", "ALL", "TRIGGER"})


class TriggerGrants:
    """Of one session, as SHOW GRANTS lists them, those of its active roles included. Raises the session's errors."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lines: list[tuple[bool, str | None, str | None]] | None = None

    def sees(self, database: str, table: str) -> bool:
        if self._lines is None:
            self._lines = list(_parsed(self._shown()))
        matching = [given for given, its, name in self._lines if _matches(its, database) and name in (None, table)]
        return bool(matching) and all(matching)

    def _shown(self) -> list[str]:
        session, ask = self._session, "SELECT CURRENT_ROLE()"
        roles = "NONE" if session.refusal(ask) else str(session.value(ask) or "NONE")
        mariadb = "mariadb" in str(session.value("SELECT VERSION()")).lower()
        using = "" if mariadb or roles == "NONE" else f" FOR CURRENT_USER() USING {roles}"
        return [str(line) for (line, *_) in session.rows(f"SHOW GRANTS{using}")]


def _parsed(lines: list[str]) -> Iterator[tuple[bool, str | None, str | None]]:
    """(given or revoked, database, table) of those that are about triggers; None: all."""
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        names = {name.strip().upper() for name in _COLUMNS.sub("", found[2]).split(",")}
        if names & _WANTED:
            yield found[1] == "GRANT", _bare(found[3]), _bare(found[4])


def _bare(name: str | None) -> str | None:
    return None if name is None else name.replace("``", "`")


def _matches(pattern: str | None, database: str) -> bool:
    """Names of databases in grants are patterns."""
    if pattern is None or pattern == database:
        return True
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return (
        re.fullmatch("".join(wild.get(part) or re.escape(part[-1]) for part in parts), database, re.DOTALL) is not None
    )
