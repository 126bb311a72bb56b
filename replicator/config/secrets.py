"""Secrets by reference: `env:NAME` or `file:/path`. They are resolved late, in the process that needs them, and never
written anywhere."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from replicator.errors import ConfigError

MAX_BYTES = 64 * 1024
DIRECTORY = "REPLICATOR_SECRETS_DIR"
"""When this variable is set, `file:` references must point below it. Who may write task configurations can otherwise
make a Core read any file it can open and send it to a database of his choice as a password."""


def resolve(reference: str) -> str:
    """The secret. One trailing newline of a file is not part of it.

    Raises:
        ConfigError: E1005 for anything that is no reference, E1006 for a reference that points to nothing usable. The
            secret itself never stands in an error.
    """
    kind, colon, rest = reference.partition(":")
    if colon and kind == "env" and rest:
        return _from_environment(rest)
    if colon and kind == "file" and rest.startswith("/"):
        return _from_file(Path(rest))
    raise ConfigError("E1005", "a secret stands here literally", wanted="env:NAME or file:/path")


def _from_environment(name: str) -> str:
    try:
        return os.environ[name]
    except (KeyError, ValueError):
        raise ConfigError(
            "E1006", f"the environment variable {name} is not set", wanted="a value", fix=f"export {name}=..."
        ) from None


def _from_file(path: Path) -> str:
    _check_place(path)
    try:
        # O_NONBLOCK: opening a pipe must not wait for its writer
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unusable(path, _reason(error)) from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _unusable(path, "not a regular file")
        data = os.read(handle, MAX_BYTES + 1)
    finally:
        os.close(handle)
    if len(data) > MAX_BYTES:
        raise _unusable(path, f"over {MAX_BYTES} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _unusable(path, "not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")


def _check_place(path: Path) -> None:
    """A symlink may stay in the file's own directory (as Kubernetes mounts secrets), not lead out of it."""
    try:
        real = path.resolve(strict=True)
        home = path.parent.resolve(strict=True)
        allowed = os.environ.get(DIRECTORY)
        outside = bool(allowed) and not real.is_relative_to(Path(allowed or "/").resolve())
    except (OSError, ValueError, RuntimeError) as error:
        raise _unusable(path, _reason(error)) from None
    if not real.is_relative_to(home):
        raise _unusable(path, "a symlink out of its directory")
    if outside:
        raise _unusable(path, f"outside {DIRECTORY}={allowed}")


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _unusable(path: Path, found: str) -> ConfigError:
    return ConfigError(
        "E1006", f"the secret file {str(path)!r} can't be used", found=found, wanted="a readable UTF-8 file"
    )
