"""Reads the tasks of files, directories and standard input, and validates all of them before any is sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from replicator.cli.terminal import clean
from replicator.config.load import load_task
from replicator.config.task import TaskConfig
from replicator.config.text import documents
from replicator.errors import ConfigError, ReplicatorError

MAX_BYTES = 16 << 20
"""Of one file: as many tasks as one command can be about."""
_SUFFIXES = (".yaml", ".yml", ".json")


class TaskFile(NamedTuple):
    """One task. `label`: its file, and the document in it where there are several."""

    label: str
    text: bytes
    config: TaskConfig


class Refused(NamedTuple):
    label: str
    error: ReplicatorError


def read_tasks(paths: Sequence[str]) -> tuple[list[TaskFile], list[Refused]]:
    """The tasks in the order of the files, and what can't be used of them: all of it, not only the first."""
    tasks: list[TaskFile] = []
    refused: list[Refused] = []
    for path in dict.fromkeys(paths):
        try:
            files = _files(path)
        except ConfigError as error:
            refused.append(Refused(clean(path), error))
            continue
        for file in files:
            _read(file, tasks, refused)
    refused += _twice(tasks)
    return tasks, refused


def _read(file: str, tasks: list[TaskFile], refused: list[Refused]) -> None:
    name = "standard input" if file == "-" else clean(file)
    try:
        texts = documents(_bytes(file), MAX_BYTES)
        if not texts:
            raise ConfigError("E1001", f"there is no task in {name}", found="an empty text", wanted="YAML or JSON")
    except ConfigError as error:
        refused.append(Refused(name, error))
        return
    for number, text in enumerate(texts, 1):
        label = f"{name}, document {number}" if len(texts) > 1 else name
        try:
            tasks.append(TaskFile(label, text.encode(), load_task(text)))
        except ConfigError as error:
            refused.append(Refused(label, error))


def _files(path: str) -> list[str]:
    """The file itself, or the task files directly in a directory, by name. Raises ConfigError E1014."""
    if path == "-" or not Path(path).is_dir():
        return [path]
    try:
        found = sorted(file for file in Path(path).iterdir() if file.suffix in _SUFFIXES and file.name[0] != ".")
    except OSError as error:
        raise _unreadable(path, error) from None
    if not found:
        wanted = f"files that end in {', '.join(_SUFFIXES)}"
        raise ConfigError("E1014", f"there is no task file in {path}", wanted=wanted, fix="Check the path.")
    return [str(file) for file in found]


def _bytes(path: str) -> bytes:
    if path == "-" and (sys.stdin is None or sys.stdin.closed):
        fix = "Pipe the configuration into the command, or give a file: -f FILE."
        raise ConfigError("E1014", "standard input is closed, so that no task can be read from it", fix=fix)
    try:
        if path == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: OSError) -> ConfigError:
    found, fix = error.strerror or str(error), "Check the path given with -f."
    return ConfigError("E1014", f"{path} can't be read", found=found, fix=fix)


def _twice(tasks: Sequence[TaskFile]) -> Iterator[Refused]:
    """One name in two documents: the later one would replace the earlier one."""
    first: dict[str, str] = {}
    for task in tasks:
        name = task.config.name
        if name in first:
            what = f"the task '{name}' is described twice"
            error = ConfigError("E1003", what, found=f"also in {first[name]}", wanted="each name once")
            yield Refused(task.label, error)
        first.setdefault(name, task.label)
