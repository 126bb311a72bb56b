"""Global variables of a running server, set for as long as a test needs them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dev.servers.database import Database


@contextlib.contextmanager
def set_global(server: Database, name: str, value: str) -> Iterator[None]:
    """`value` is SQL text; what was set before comes back at the end."""
    before = server.execute(f"SELECT @@GLOBAL.{name}")[0][0]
    server.execute(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        server.execute(f"SET GLOBAL {name} = %s", (before,))
