"""System variables on which it depends whether a server keeps what it has committed when its machine crashes."""

from __future__ import annotations

from typing import Final

from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server

_FLUSH: Final = "innodb_flush_log_at_trx_commit"
_PAGES: Final = "innodb_doublewrite"
_TORN: Final = frozenset({"OFF", "0", "DETECT_ONLY"})
"""With these a page that was written in part can't be restored."""


def weak_settings(server: Server, *, binlog: bool) -> tuple[str, list[str]]:
    """The settings, for people, and the statements that correct those that are weak. `binlog`: the server writes one,
    of which no transaction may be lost."""
    wanted = {_FLUSH: {"1", "3"} if server.mariadb else {"1"}}  # 3: at PREPARE as well, of MariaDB alone
    if binlog:
        wanted["sync_binlog"] = {"1"}
    fixes = [set_global(server, name, "1") for name, values in wanted.items() if server.get(name) not in values]
    shown = [*wanted]
    if server.get(_PAGES).upper() in _TORN:
        shown.append(_PAGES)
        fixes.append(f"Set {_PAGES} = ON in the server's configuration file, and restart the server.")
    return ", ".join(f"{name} = {server.get(name)}" for name in shown), fixes
