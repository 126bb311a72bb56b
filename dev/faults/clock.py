"""Another wall clock for one Python process and its children."""

from __future__ import annotations

import os
from pathlib import Path


def wrong_by(seconds: int) -> dict[str, str]:
    """The environment of a process whose wall clock is off by so much; see wrong_clock/sitecustomize.py."""
    return _with({"REPLICATOR_WRONG_CLOCK_S": str(seconds)})


def still_by(file: Path) -> dict[str, str]:
    """The environment of a process whose lease clock has stood still for the seconds that are written in `file`."""
    return _with({"REPLICATOR_STILL_CLOCK": str(file)})


def _with(settings: dict[str, str]) -> dict[str, str]:
    folder = str(Path(__file__).parent / "wrong_clock")
    path = os.pathsep.join(part for part in (folder, os.environ.get("PYTHONPATH", "")) if part)
    return {"PYTHONPATH": path, **settings}
