"""Names of XA transactions: which of a server's prepared ones are ours, and of which commit they are.

The statements are those of the chapter "XA Transactions" in the manuals of MySQL and MariaDB.
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from replicator.mysql.session import Session

_FORMAT: Final = 0x4D5352
_PREFIX: Final = "replicator"
_DIGITS: Final = 10
"""Of the name of a task: with the largest numbers behind it, 63 of the 64 bytes that servers take."""


class Xid(NamedTuple):
    """
    Attributes:
        commit: epoch and sequence of the position row before the commit that it belongs to: `7.4242`.
        branch: number of its connection, from 1 on.
    """

    owner: str
    commit: str
    branch: int

    @property
    def literal(self) -> bytes:
        return f"'{_PREFIX}:{self.owner}:{self.commit}','{self.branch}',{_FORMAT}".encode()


def owner(place: str, installation: str, task: str) -> str:
    """What distinguishes tasks that write to one server. `place`: the name of the position table."""
    return hashlib.sha256("\0".join((place, installation, task)).encode()).hexdigest()[:_DIGITS]


def prepared(session: Session, of: str) -> list[Xid]:
    """XA transactions of an owner that are prepared, also those of other connections. Raises the errors of the
    session's side: MySQL wants XA_RECOVER_ADMIN."""
    found = []
    for number, length, _, data in session.rows("XA RECOVER"):
        text = data.decode("latin-1") if isinstance(data, bytes) else str(data)
        prefix, _, rest = text[: int(length)].partition(":")
        name, _, commit = rest.partition(":")
        if (int(number), prefix, name) == (_FORMAT, _PREFIX, of):
            found.append(Xid(of, commit, int(text[int(length) :])))
    return found
