"""References to secrets, `env:NAME` or `file:/path`, and sealed ones: resolved late, in the process that needs them,
and never written.

Who may write configurations chooses the server that a secret is sent to. So he may name only what the host's operator
has set aside for tasks (`replicator.host.access`), not whatever this process can read.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import Final

from replicator.config import printed_secrets, sealed
from replicator.errors import ConfigError
from replicator.host import access, files

MAX_BYTES = 64 * 1024


def resolve(reference: str) -> str:
    """The secret. One trailing newline of a file is not part of it.

    Raises:
        ConfigError: E1005 for anything that is no reference, E1006 for a reference that points to nothing usable, E1012
            for one that tasks may not read; E1040 to E1043 for a sealed one that can't be opened. The secret itself
            never stands in an error.
        SecretUnavailable: E1046, a command has failed.
    """
    found = _resolved(reference)
    _first.setdefault(reference, _fingerprint(found))
    return found


_first: dict[str, bytes] = {}
"""Of each reference that was resolved: a fingerprint of what it was first, under a key of this process alone. Some keep
what they have got then."""
_KEY: Final = secrets.token_bytes(16)


def _fingerprint(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode("utf-8", "surrogateescape"), key=_KEY, digest_size=16).digest()


def changed() -> bool:
    """Whether a secret that this process has used is another one by now. One that can't be had is not."""
    for reference, before in list(_first.items()):
        try:
            if _fingerprint(_resolved(reference, fresh=True)) != before:
                return True
        except ConfigError:
            continue
    return False


def _resolved(reference: str, *, fresh: bool = False) -> str:
    kind, colon, rest = reference.partition(":")
    if colon and kind == "env" and rest:
        return _from_environment(rest)
    if colon and kind == "file" and rest.startswith("/"):
        return _from_file(rest)
    if colon and kind == "command":
        return printed_secrets.printed(reference, fresh=fresh)
    if sealed.is_sealed(reference):
        return sealed.resolve(reference)
    raise ConfigError(
        "E1005",
        "a literal secret instead of a reference",
        wanted="env:NAME, file:/path, command:PROGRAM, or a sealed value",
    )


def _from_environment(name: str) -> str:
    if not access.allows_variable(name):
        prefixes = ", ".join(access.env_prefixes()) or "none"
        raise ConfigError(
            "E1012",
            f"tasks may not read the environment variable {name}",
            wanted=f"a name that begins with one of {prefixes}",
            fix=f"Rename the variable, or start {access.process_name()} with --secrets-env-prefix.",
        )
    try:
        return os.environ[name]
    except (KeyError, ValueError):
        raise ConfigError(
            "E1006",
            f"the environment variable {name} is not set",
            found=f"not in the environment of {access.process_name()}",
            wanted="a value",
            fix=_set_variable(name),
        ) from None


def _set_variable(name: str) -> str:
    """A variable is set where the process is started, and not in the shell of whoever reads the error."""
    process = access.process_name()
    if access.is_service():
        return (
            f"Set {name} where {process} is started (with systemd: in its EnvironmentFile), and restart it. Every Core "
            "that may run the task needs it."
        )
    return f"export {name}=... in the shell of {process}. Every Core that may run the task needs the variable, too."


def _no_file(path: str, found: str) -> ConfigError:
    return ConfigError(
        "E1006",
        f"the secret file {path!r} can't be used",
        found=found,
        wanted="a readable UTF-8 file",
        fix=f"Create the file, readable for the user of {access.process_name()}, and on every host whose Core may run "
        "the task; then `replicator task retry NAME` if the task has failed.",
    )


def _from_file(path: str) -> str:
    try:
        _, content = files.read(path, access.secrets_directories(), MAX_BYTES)
    except files.NotAllowed as error:
        raise ConfigError(
            "E1012",
            f"tasks may not read the file {path!r}",
            found=str(error),
            wanted="a file in an allowed directory",
            fix=f"Move the file there, or start {access.process_name()} with --secrets-directory.",
        ) from None
    except files.NotUsable as error:
        raise _no_file(path, str(error)) from None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _no_file(path, "not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")
