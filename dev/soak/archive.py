"""The raw history of a run: one compressed file of JSON lines, for whoever wants to judge it anew."""

from __future__ import annotations

import gzip
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from dev.checker.history import Role, Seen, Transaction
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
    """`with Archive(path) as archive`: each `add` writes a line with its kind and, where it is of one, its task."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = gzip.open(path, "wb", compresslevel=6)  # noqa: SIM115

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, kind: str, facts: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode({"kind": kind, **facts}) + b"\n")

    def history(self, task: str, journal: Iterable[Transaction], seen: Iterable[Seen], roles: Iterable[Role]) -> None:
        for kind, values in (("transaction", journal), ("seen", seen), ("role", roles)):
            for value in values:
                self.add(kind, {"task": task, **msgspec.structs.asdict(value)})
