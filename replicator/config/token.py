"""The bearer token of the Server: created on its first start, stored in a file that only its owner can read, and shared
with the command line of the same user."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from replicator.errors import ConfigError
from replicator.host.state_directory import state_directory

MIN_LENGTH = 16
_MAX_BYTES = 4096
_WHICH = "Give the token file of the Server with --token-file or REPLICATOR_TOKEN_FILE; the Server's log names it."


def default_token_file() -> Path:
    return state_directory() / "server.token"


def read_token(path: Path) -> str:
    """Raises ConfigError E1006: missing, readable by others, or too short to be a token. The token is never shown."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError("E1006", f"the token file {path} can't be read", found=reason or "", fix=_WHICH) from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError("E1006", f"the token file {path} is not a regular file", fix=_WHICH)
        if stat.S_IMODE(mode) & 0o077:
            found = f"mode {stat.S_IMODE(mode):04o}"
            raise ConfigError(
                "E1006",
                f"other users may read the token file {path}",
                found=found,
                wanted="0600",
                fix=f"chmod 600 {path}",
            )
        token = os.read(handle, _MAX_BYTES).decode("ascii", "replace").strip()
    finally:
        os.close(handle)
    if len(token) < MIN_LENGTH or not token.isprintable() or " " in token:
        raise ConfigError(
            "E1006", f"the token file {path} contains no token", wanted=f"{MIN_LENGTH} characters or more", fix=_WHICH
        )
    return token


def ensure_token(path: Path) -> tuple[str, bool]:
    """The token of the file, and whether it was made now. Two Servers that start together agree on one."""
    if path.exists():
        return read_token(path), False
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        try:
            os.link(fresh, path)  # complete or not at all, and never over another's
        except FileExistsError:
            return read_token(path), False
    except OSError as error:
        raise ConfigError(
            "E1006",
            f"the token file {path} can't be created",
            found=error.strerror or str(error),
            fix="Give --token-file a path that the user of the Server can write to.",
        ) from None
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()
    return read_token(path), True
