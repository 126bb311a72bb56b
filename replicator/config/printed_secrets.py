"""Secrets that a program prints: `command:PROGRAM` or `command:PROGRAM/ARGUMENT`, for stores such as Vault.

The program is one that the operator of the host has put into a directory for tasks (--commands-directory), so that a
configuration can name it and give it one argument, which is no option, and no more.
"""

from __future__ import annotations

import re
import threading
import time
from typing import Final

from replicator.config import programs
from replicator.errors import ConfigError, SecretUnavailable
from replicator.host import access, commands

PATTERN: Final = r"command:[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_./:@=+][A-Za-z0-9_./:@=+-]*)?"
CACHE_SECONDS: Final = 60.0
"""For which an answer counts. After a refused login the program is run again (`printed` with `fresh`)."""
_FORM: Final = re.compile(PATTERN)
_lock = threading.Lock()
_known: dict[str, tuple[float, str]] = {}


def printed(reference: str, *, fresh: bool = False) -> str:
    """What the program prints, without blanks around it.

    Raises ConfigError: E1005, no such reference; E1012, the host has no such program for tasks; E1006: it can't be run.
    SecretUnavailable E1046: it failed, or took too long. What it prints never stands in an error.
    """
    if _FORM.fullmatch(reference) is None:
        raise ConfigError("E1005", "the reference to a command is not valid", wanted="command:PROGRAM[/ARGUMENT]")
    with _lock:
        at, found = _known.get(reference, (0.0, ""))
        if found and not fresh and time.monotonic() - at < CACHE_SECONDS:
            return found
    found = _run(reference)
    with _lock:
        _known[reference] = time.monotonic(), found
    return found


def _run(reference: str) -> str:
    name, slash, argument = reference.removeprefix("command:").partition("/")
    directories = access.commands_directories()
    program = next((str(each / name) for each in directories if (each / name).exists()), None)
    if program is None:
        raise programs.not_allowed(name, "no such program")
    fix = f"Make it executable for the user of {access.process_name()}; then `replicator task retry NAME`."
    try:
        found = programs.printed((program, argument) if slash else (program,), prints="the secret", fix=fix, shown=name)
    except commands.CommandFailed as error:
        raise _no_secret(name, str(error)) from None
    if not found:
        raise _no_secret(name, "it printed nothing")
    return found


def _no_secret(name: str, found: str) -> SecretUnavailable:
    return SecretUnavailable(
        "E1046",
        f"the command {name!r} gives no secret",
        found=found,
        wanted="a program that prints the secret and ends with status 0",
    )
