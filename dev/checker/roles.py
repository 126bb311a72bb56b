"""The role logs that workers keep (see core/role_log.py), in the checker's form."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dev.checker.history import Role


class _Line(msgspec.Struct):
    task: str
    host: str
    pid: int
    epoch: int
    begin: float
    end: float


def read_roles(folder: Path, task: str) -> list[Role]:
    """The intervals of one task in the order of their beginnings. Files of workers that never emitted are empty."""
    lines = [msgspec.json.decode(text, type=_Line) for path in folder.glob("*.jsonl") if (text := path.read_bytes())]
    found = [Role(f"{line.host}/{line.pid}", line.epoch, line.begin, line.end) for line in lines if line.task == task]
    return sorted(found, key=lambda role: (role.begin, role.epoch))
