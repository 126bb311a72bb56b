"""The console script: Ctrl-C while everything is still being loaded ends it quietly, too."""

from __future__ import annotations

from typing import Any


def main() -> Any:
    try:
        from replicator.cli.main import main as command
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    return command()
