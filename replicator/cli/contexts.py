"""Contexts of the command line: named Servers with their tokens, in a file of the user.

A setting is taken from an option, else from an environment variable, else from the context, else from its default. The
files of a context (token, CA, client certificate and key) are used for the Server of that context alone: with another
one, given by --server or REPLICATOR_SERVER, its login would go to a process that it is not for.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any, Final, NamedTuple

from replicator.config.token import default_token_file
from replicator.errors import ProcessError
from replicator.host import private_files

DEFAULT_SERVER: Final = "http://127.0.0.1:8080"
CONTEXT: Final = "REPLICATOR_CONTEXT"
CA_FILE: Final = "REPLICATOR_CA_FILE"
CERTIFICATE: Final = "REPLICATOR_CLIENT_CERTIFICATE"
KEY: Final = "REPLICATOR_CLIENT_KEY"
_FILE: Final = "REPLICATOR_CONFIG"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_MAX_BYTES: Final = 1 << 20


class Context(NamedTuple):
    """Files: "" for none. `client_key`: "" also where it is in the file of the certificate."""

    server: str
    token_file: str = ""
    ca_file: str = ""
    client_certificate: str = ""
    client_key: str = ""


class Contexts(NamedTuple):
    """`current`: name of the one that is used, "" without one."""

    current: str = ""
    named: dict[str, Context] = {}  # noqa: RUF012 - never changed


class Setting(NamedTuple):
    """`origin`: where the value comes from, for people."""

    name: str
    value: str
    origin: str


def config_file() -> Path:
    """`$REPLICATOR_CONFIG`, by default `$XDG_CONFIG_HOME/mysql-replicator/contexts.json` or the same in ~/.config."""
    if os.environ.get(_FILE):
        return Path(os.environ[_FILE])
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "mysql-replicator" / "contexts.json"


def check_name(name: str) -> None:
    """Raises ProcessError E5093."""
    if not _NAME.fullmatch(name):
        wanted = "1 to 63 letters, digits, - _ and ."
        raise ProcessError("E5093", "invalid name of a context", found=repr(name[:80]), wanted=wanted)


def load() -> Contexts:
    """Without a file there are none. Raises ProcessError E5093."""
    path = config_file()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return Contexts()
    except (OSError, ValueError) as error:
        raise _wrong(path, "can't be read", str(error)) from None
    found = _parsed(path, data)
    if any(any(one[1:]) for one in found.named.values()) and stat.S_IMODE(mode) & 0o077:
        raise ProcessError(
            "E5093",
            f"other users may read or write {path}, which names files of logins",
            found=f"mode {stat.S_IMODE(mode):04o}",
            wanted="0600",
            fix=f"chmod 600 {path}",
        )
    return found


def _parsed(path: Path, data: bytes) -> Contexts:
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError("it is larger than 1 MB")
        content = json.loads(data)
        named = {
            str(name): Context(str(one["server"]), *(str(one.get(key, "")) for key in Context._fields[1:]))
            for name, one in content["contexts"].items()
        }
        current = content.get("current", "")
        if not isinstance(current, str):
            raise ValueError("`current` is not a name")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _wrong(path, "is not a file of contexts", f"{type(error).__name__}: {error}") from None
    return Contexts(current, named)


def save(contexts: Contexts) -> None:
    """Replaces the file as a whole; only its owner can read it. Raises ProcessError E5093."""
    path = config_file()
    content: dict[str, Any] = {
        "current": contexts.current,
        "contexts": {
            name: {key: value for key, value in one._asdict().items() if value}
            for name, one in sorted(contexts.named.items())
        },
    }
    try:
        private_files.replace(path, f"{json.dumps(content, indent=2, ensure_ascii=False)}\n".encode())
    except OSError as error:
        raise _wrong(path, "can't be written", error.strerror or str(error)) from None


def _wrong(path: Path, what: str, found: str) -> ProcessError:
    fix = f"Correct or delete {path}, or name another file with {_FILE}."
    return ProcessError("E5093", f"{path} {what}", found=found[:200], fix=fix)


def chosen(contexts: Contexts) -> tuple[str, Context | None]:
    """The context that is used, by --context or REPLICATOR_CONTEXT, else the current one. Raises ProcessError E5093
    for one that does not exist."""
    name = os.environ.get(CONTEXT) or contexts.current
    if not name:
        return "", None
    if name not in contexts.named:
        known = ", ".join(sorted(contexts.named)) or "none"
        raise ProcessError("E5093", f"there is no context '{name}'", found=f"contexts: {known}")
    return name, contexts.named[name]


def server() -> str:
    """Of the context, else the default one. Raises ProcessError E5093."""
    context = chosen(load())[1]
    return context.server if context else DEFAULT_SERVER


def of_server(address: str) -> Context | None:
    """The context, if `address` is its Server. Raises ProcessError E5093."""
    context = chosen(load())[1]
    return context if context is not None and context.server.rstrip("/") == address.rstrip("/") else None


def token_file(address: str) -> Path | None:
    """Of the context, if `address` is its Server. Raises ProcessError E5093."""
    context = of_server(address)
    return Path(context.token_file) if context is not None and context.token_file else None


class TlsPaths(NamedTuple):
    """ "" for none. `origins`: where CA file and certificate come from, for people."""

    ca_file: str
    client_certificate: str
    client_key: str
    origins: tuple[str, str] = ("", "")


def tls_files(address: str) -> TlsPaths:
    """From options and environment, else of the context, if `address` is its Server: the CA file, and certificate and
    key together. Raises ProcessError E5093."""
    context = of_server(address) or Context(address)
    ca, certificate, key = (os.environ.get(name, "") for name in (CA_FILE, CERTIFICATE, KEY))
    named = f"context {chosen(load())[0]}"
    ca_origin = f"environment variable {CA_FILE}" if ca else named if context.ca_file else "default"
    given = f"environment variable {CERTIFICATE if certificate else KEY}"
    origin = given if certificate or key else named if context.client_certificate else "default"
    if not certificate and not key:
        certificate, key = context.client_certificate, context.client_key
    return TlsPaths(ca or context.ca_file, certificate, key, (ca_origin, origin))


def settings() -> list[Setting]:
    """What commands without options use. The token itself is never shown. Raises ProcessError E5093."""
    contexts = load()
    name, context = chosen(contexts)
    file = str(config_file())
    by = f"environment variable {CONTEXT}, or --context" if os.environ.get(CONTEXT) else file if name else "default"
    given = os.environ.get("REPLICATOR_SERVER")
    address = given or (context.server if context else DEFAULT_SERVER)
    where = "environment variable REPLICATOR_SERVER" if given else f"context {name}" if context else "default"
    tls = tls_files(address)
    return [
        Setting("context", name, by),
        Setting("server", address, where),
        _token(name, address),
        Setting("ca_file", tls.ca_file, tls.origins[0]),
        Setting("client_certificate", tls.client_certificate, tls.origins[1]),
        Setting("client_key", tls.client_key, tls.origins[1]),
    ]


def _token(name: str, address: str) -> Setting:
    if os.environ.get("REPLICATOR_TOKEN"):
        return Setting("token", "(not shown)", "environment variable REPLICATOR_TOKEN")
    if os.environ.get("REPLICATOR_TOKEN_FILE"):
        return Setting("token_file", os.environ["REPLICATOR_TOKEN_FILE"], "environment variable REPLICATOR_TOKEN_FILE")
    own = token_file(address)
    if own is not None:
        return Setting("token_file", str(own), f"context {name}")
    return Setting("token_file", str(default_token_file()), "default")
