"""The bearer token of the Server: created on its first start, stored in a file that only its owner can read, and shared
with the command line of the same user."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from replicator.errors import ConfigError
from replicator.host import private_files
from replicator.host.files import NotUsable
from replicator.host.state_directory import state_directory

MIN_LENGTH = 16
_MAX_BYTES = 4096
_WHICH = "Give the token file of the Server with --token-file or REPLICATOR_TOKEN_FILE; the Server's log names it."


def default_token_file() -> Path:
    return state_directory() / "server.token"


def read_token(path: Path) -> str:
    """Raises ConfigError E1006: missing, readable by others, or too short to be a token. The token is never shown."""
    try:
        token = private_files.read(path, _MAX_BYTES).decode("ascii", "replace").strip()
    except private_files.Irregular:
        raise ConfigError("E1006", f"the token file {path} is not a regular file", fix=_WHICH) from None
    except private_files.Exposed as error:
        what, fix = f"other users may read the token file {path}", f"chmod 600 {path}"
        raise ConfigError("E1006", what, found=str(error), wanted="0600", fix=fix) from None
    except NotUsable as error:
        raise ConfigError("E1006", f"the token file {path} can't be read", found=str(error), fix=_WHICH) from None
    if len(token) < MIN_LENGTH or not token.isprintable() or " " in token:
        raise ConfigError(
            "E1006", f"the token file {path} contains no token", wanted=f"{MIN_LENGTH} characters or more", fix=_WHICH
        )
    return token


def ensure_token(path: Path) -> tuple[str, bool]:
    """The token of the file, and whether it was made now. Two Servers that start together agree on one."""
    if path.exists():
        return read_token(path), False
    fresh = private_files.draft(path)
    try:
        private_files.write_new(fresh, f"{secrets.token_urlsafe(32)}\n".encode())
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
