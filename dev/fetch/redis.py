"""Redis of Debian."""

from __future__ import annotations

from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.debian import Prefix, unpack
from dev.fetch.once import folder_once

SUITE = "bookworm"
_SERVER = "usr/bin/redis-server"


def redis_root() -> Path:
    """Fetched when it is not there. Raises ServerUnavailable."""

    def build(draft: Path) -> None:
        unpack("Redis", SUITE, ["redis-server"], draft)
        if not (draft / _SERVER).exists():
            raise ServerUnavailable("Redis", f"what was fetched holds no {_SERVER}")

    return folder_once(f"redis-{SUITE}", build)


def redis_server() -> list[str]:
    return Prefix(redis_root()).command(_SERVER)
