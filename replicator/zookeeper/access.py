"""How a process connects to ZooKeeper: its login, its TLS files, and the identities that follow from them.

Options and the file of --zookeeper-config go into environment variables, where the process finds them. Secrets are only
in files of mode 0600 or in the environment. Everything is read again for each connection, so that a changed file counts
from the next one on.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from replicator.coordination.ports import Identity
from replicator.errors import ConfigError
from replicator.host import private_files
from replicator.host.addresses import parse_ensemble
from replicator.host.files import NotUsable
from replicator.host.network import is_loopback

PREFIX: Final = "REPLICATOR_ZOOKEEPER_"
KEYS: Final = ("login", "user", "password", "password_file", "ca", "cert", "key", "tls")
LOGINS: Final = ("digest", "sasl")
_YES: Final = ("1", "true", "yes", "on")
_MOST: Final = 1 << 20

WARNING: Final = (
    "connected to ZooKeeper WITHOUT TLS and login (--insecure-zookeeper): anyone who reaches it can read and "
    "change tasks; see `replicator docs security`"
)


class Access(msgspec.Struct, frozen=True):
    """
    Attributes:
        login: "digest", "sasl", or "" for none but the certificate's.
        ca, cert, key: PEM files; "" for the authorities of the system, and for no certificate of the client.
        of_environment: read again for each connection.
        insecure: connect without TLS and a login to other machines, and to a tree that is open.
    """

    login: str = ""
    user: str = ""
    password: str = ""
    password_file: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""
    tls: bool = False
    insecure: bool = False
    of_environment: bool = False

    def __repr__(self) -> str:
        return f"Access(login={self.login!r}, user={self.user!r}, tls={self.tls})"

    def fresh(self) -> Access:
        """As the files are now. Raises ConfigError E4036."""
        return of_environment() if self.of_environment else self

    def files(self) -> tuple[tuple[str, int, int], ...]:
        """What is there of each file that is read: other values after a change."""
        found = []
        for path in (os.environ.get(f"{PREFIX}CONFIG", ""), self.password_file, self.ca, self.cert, self.key):
            with contextlib.suppress(OSError):
                if path:
                    seen = Path(path).stat()
                    found.append((path, seen.st_mtime_ns, seen.st_ino))
        return tuple(found)

    @property
    def has_identity(self) -> bool:
        return bool(self.login or self.cert)

    def secret(self) -> str:
        """The password. Raises ConfigError E4036."""
        if self.password_file:
            return read_private(self.password_file).decode(errors="strict").rstrip("\r\n")
        return self.password

    def identities(self) -> tuple[Identity, ...]:
        """Of a session with this login. Raises ConfigError E4036."""
        found = []
        if self.login == "digest":
            found.append(digest_identity(self.user, self.secret()))
        if self.login == "sasl":
            found.append(Identity("sasl", self.user))
        if self.cert:
            found.append(Identity("x509", subject(self.cert)))
        return tuple(found)

    def context(self) -> ssl.SSLContext:
        """Verifies certificate and host name. Reads the files anew. Raises ConfigError E4036."""
        if self.key:
            read_private(self.key)
        try:
            made = ssl.create_default_context(cafile=self.ca or None)
            made.minimum_version = ssl.TLSVersion.TLSv1_2
            if self.cert:
                made.load_cert_chain(self.cert, self.key or None, password="")
        except (OSError, ValueError) as error:
            raise _unusable("TLS files", f"{error} (ca={self.ca}, cert={self.cert}, key={self.key})") from error
        return made


NO_ACCESS: Final = Access()


def digest_identity(user: str, password: str) -> Identity:
    """As ZooKeeper's scheme `digest` names it: SHA-1 is its choice, not ours."""
    raw = hashlib.sha1(f"{user}:{password}".encode(), usedforsecurity=False).digest()
    return Identity("digest", f"{user}:{base64.b64encode(raw).decode()}")


def subject(path: str) -> str:
    """Of the first certificate of a PEM file, as ZooKeeper's scheme `x509` has it (RFC 2253)."""
    from cryptography import x509  # only where there is a certificate

    try:
        return x509.load_pem_x509_certificate(Path(path).read_bytes()).subject.rfc4514_string()
    except (OSError, ValueError) as error:
        raise _unusable(path, str(error)) from error


def of_environment(environment: Mapping[str, str] = os.environ) -> Access:
    """Raises ConfigError E4036."""
    config = environment.get(f"{PREFIX}CONFIG", "")
    values = read_config(config) if config else {}
    for key in KEYS:
        given = environment.get(PREFIX + key.upper(), "")
        if given:
            values[key] = given
            if key.startswith("password"):  # one given here replaces either of the file
                values.pop({"password": "password_file", "password_file": "password"}[key], None)
    insecure = environment.get(f"{PREFIX}INSECURE", "").lower() in _YES
    return msgspec.structs.replace(_checked(values, insecure=insecure), of_environment=environment is os.environ)


def of_file(path: str) -> Access:
    """Raises ConfigError E4036."""
    return _checked(read_config(path), insecure=False)


def read_config(path: str) -> dict[str, str]:
    """Lines of `key = value`. Relative paths are relative to the file."""
    values: dict[str, str] = {}
    for number, line in enumerate(read_private(path).decode(errors="replace").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or key not in KEYS:
            raise _unusable(path, f"line {number}: {key[:40]!r}" if equals else f"line {number}: no `key = value`")
        if key in ("password_file", "ca", "cert", "key") and value:
            value = str(Path(path).parent / value)
        values[key] = value
    return values


def _checked(values: Mapping[str, str], *, insecure: bool) -> Access:
    tls = values.get("tls", "").lower() in _YES or any(values.get(key) for key in ("ca", "cert"))
    login, user, password, password_file, ca, cert, key = (values.get(name, "") for name in KEYS[:-1])
    access = Access(login, user, password, password_file, ca, cert, key, tls, insecure)
    if access.login and access.login not in LOGINS:
        raise _unusable("zookeeper login", access.login[:40])
    if access.login and not (access.user and (access.password or access.password_file)):
        raise _unusable("zookeeper login", f"{access.login} without user and password")
    if not access.login and (access.user or access.password or access.password_file):
        raise _unusable("zookeeper login", "user or password without login = digest or sasl")
    if ":" in access.user:
        raise _unusable("zookeeper login", "the user has a colon")
    if access.key and not access.cert:
        raise _unusable("zookeeper TLS", "key without cert")
    return access


def read_private(path: str) -> bytes:
    """A file that only its owner may read or write. Raises ConfigError E4036."""
    try:
        return private_files.read(path, _MOST)
    except private_files.Exposed as error:
        raise _unusable(path, str(error), "mode 0600", f"Run `chmod 600 {path}`.") from error
    except NotUsable as error:
        raise _unusable(path, str(error)) from error


def _unusable(what: str, found: str, wanted: str = "", fix: str = "") -> ConfigError:
    return ConfigError("E4036", f"{what} cannot be used for ZooKeeper", found=found, wanted=wanted, fix=fix)


def is_secured(hosts: str, access: Access) -> bool:
    """On loopback, or with TLS and an identity."""
    return all(is_loopback(each.host) for each in parse_ensemble(hosts).servers) or (access.tls and access.has_identity)


def require_secured(hosts: str, access: Access) -> list[str]:
    """Warnings for health checks. Raises ConfigError E4034."""
    if is_secured(hosts, access):
        return []
    if access.insecure:
        return [WARNING]
    missing = ", ".join(
        part for part in ("" if access.tls else "no TLS", "" if access.has_identity else "no login") if part
    )
    what = "ZooKeeper on another machine is used without protection"
    raise ConfigError("E4034", what, found=f"{hosts}: {missing}")
