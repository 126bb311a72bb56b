"""Runs programs named in task configurations, only from directories that the host's operator allows."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from replicator.host import access, files

SECONDS: Final = 20.0
MOST_BYTES: Final = 64 << 10


class CommandFailed(Exception):
    """It did not end well, or in time. The text has nothing of what it wrote."""


def output(command: Sequence[str], directories: Iterable[Path], seconds: float = SECONDS) -> str:
    """What a program writes to its standard output, without blanks around it. Its standard error is dropped, as it may
    contain secrets.

    Args:
        command: absolute path of the program below one of `directories`, and its arguments.

    Raises:
        files.NotUsable: the program is not there; files.NotAllowed, which is one: it is somewhere else.
        CommandFailed
    """
    if not command[0].startswith("/"):
        raise files.NotAllowed("not an absolute path")
    program, _ = files.locate(command[0], directories)
    environment = {name: value for name, value in os.environ.items() if access.passes_to_commands(name)}
    try:
        child = subprocess.Popen(
            [str(program), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise files.NotUsable(files.reason(error)) from None
    try:
        written, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise CommandFailed(f"it has not ended within {seconds:.0f} s") from None
    if child.returncode:
        raise CommandFailed(f"it ended with status {child.returncode}")
    if len(written) > MOST_BYTES:
        raise CommandFailed(f"it wrote more than {MOST_BYTES} bytes")
    try:
        return written.decode().strip()
    except UnicodeDecodeError:
        raise CommandFailed("it wrote something that is not UTF-8") from None
