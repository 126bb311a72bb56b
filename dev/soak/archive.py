"""The raw history of a run: one compressed file of JSON lines, from which a verdict can be repeated."""

from __future__ import annotations

import gzip
import os
import platform
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from dev.paths import TREE


def conditions() -> dict[str, Any]:
    """When, of which commit, on what kind of machine."""
    try:
        asked = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=TREE, capture_output=True, check=False)
        commit = asked.stdout.decode().strip()
    except OSError:
        commit = ""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": commit,
        "machine": f"{os.cpu_count()} CPUs, {platform.machine()}, Linux {platform.release()}",
        "python": platform.python_version(),
    }


class Archive:
    """Each `add` writes a line with its kind and, where it is of one, its task; from any thread."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = gzip.open(path, "wb", compresslevel=3)  # noqa: SIM115
        self._lock = threading.Lock()
        self._encode = msgspec.json.Encoder().encode

    def close(self) -> None:
        self._file.close()

    def add(self, kind: str, facts: dict[str, Any]) -> None:
        line = self._encode({"kind": kind, **facts}) + b"\n"
        with self._lock:
            self._file.write(line)
