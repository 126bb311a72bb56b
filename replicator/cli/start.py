"""The console script: Ctrl-C while everything is still being loaded ends it quietly, too."""

from __future__ import annotations

from typing import Any

from replicator.cli.loading import loading


def main() -> Any:
    with loading():
        from replicator.cli.main import main as command
    return command()
