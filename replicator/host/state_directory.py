"""The directory in which processes of a user keep small files: the Server's token, pid files."""

from __future__ import annotations

import os
from pathlib import Path


def state_directory() -> Path:
    """`$XDG_STATE_HOME/mysql-replicator`, by default `~/.local/state/mysql-replicator`."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "mysql-replicator"
