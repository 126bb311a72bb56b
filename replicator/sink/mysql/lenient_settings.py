"""Global variables with which a server ignores rows that it cannot apply, or executes triggers for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server

_SKIPPED: Final = ("replica_skip_errors", "slave_skip_errors")
_DYNAMIC: Final = {"slave_exec_mode": "STRICT", "slave_run_triggers_for_rbr": "NO"}
"""On MariaDB they hold for BINLOG statements too; MySQL has a session variable of its own for these."""


class Lenient(msgspec.Struct, frozen=True):
    """`fix`: what corrects it."""

    name: str
    value: str
    wanted: str
    fix: str


def lenient(server: Server) -> Sequence[Lenient]:
    """Measured: a duplicate or missing row is then passed over without an error, and a trigger changes rows again whose
    changes the source has logged."""
    found = []
    for name in _SKIPPED:
        value = server.get(name)
        if value not in ("", "OFF"):
            fix = f"Remove {name} from the server's configuration file and restart the server."
            found.append(Lenient(name, value, "OFF", fix))
            break  # one variable with two names
    for name, wanted in _DYNAMIC.items():
        value = server.get(name)
        if server.mariadb and value not in ("", wanted):
            found.append(Lenient(name, value, wanted, set_global(server, name, wanted)))
    return found
