"""promtool of Debian's Prometheus: checks alert rules. Nothing is installed, and no service starts."""

from __future__ import annotations

from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.debian import Prefix, unpack
from dev.fetch.once import folder_once

SUITE = "bookworm"
_PROGRAM = "usr/bin/promtool"


def prometheus_root() -> Path:
    """Fetched when it is not there. Raises ServerUnavailable."""

    def build(draft: Path) -> None:
        unpack("Prometheus", SUITE, ["prometheus"], draft)
        if not (draft / _PROGRAM).exists():
            raise ServerUnavailable("Prometheus", f"what was fetched holds no {_PROGRAM}")

    return folder_once(f"prometheus-{SUITE}", build)


def promtool() -> list[str]:
    """The command, without arguments."""
    return Prefix(prometheus_root()).command(_PROGRAM)
