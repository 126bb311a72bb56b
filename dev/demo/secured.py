"""What secures the demo: an authority and passwords of this run alone, a ZooKeeper that listens with TLS only, and an
identity for each kind of process."""

from __future__ import annotations

import datetime
import os
import secrets
import socket
import ssl
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from dev.cluster import CLI
from dev.errors import ServerFailed
from dev.servers.authority import Authority
from dev.servers.secure_zookeeper import USERS, SecureZooKeeper, login
from replicator.host.access import SECRETS_DIRECTORY

_LASTS: Final = datetime.timedelta(days=30)
"""Longer than the two weeks before an expiry, in which health checks warn: the demo may stay up for a look."""
_CONFIG: Final = "REPLICATOR_ZOOKEEPER_CONFIG"
SHOWN: Final = (
    "secured: ZooKeeper listens with TLS only; Core, Server, Monitor and administrator have logins, and each znode an "
    "ACL; Server and Monitor speak HTTPS"
)


class SecuredZooKeeper(SecureZooKeeper):
    """Without a port for plain text."""

    @property
    def address(self) -> str:
        return self.secure

    def four_letter_word(self, word: str) -> str:
        context = ssl.create_default_context(cafile=str(self.authority.ca))
        with (
            socket.create_connection((self.host, self.secure_port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=self.host) as made,
        ):
            made.sendall(word.encode())
            return b"".join(iter(lambda: made.recv(4096), b"")).decode()

    def _settings(self) -> dict[str, object]:
        settings = super()._settings()
        return {key: value for key, value in settings.items() if not key.startswith("clientPort")}

    def _serves(self) -> bool:
        try:
            return super()._serves()
        except OSError:
            return False


class Secured:
    """Certificates and login files in `folder`, which only this user may read; the ZooKeeper that takes them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self._folder = folder
        authority = Authority(folder, "demo", _LASTS)
        certificate = authority.leaf("127.0.0.1", _LASTS)
        for file in certificate:
            file.chmod(0o600)
        self.ca = authority.ca
        passwords = {user: secrets.token_urlsafe(24) for user in USERS}
        self.zookeeper = SecuredZooKeeper(authority, certificate, passwords=passwords, fast=True)
        listener = {"REPLICATOR_TLS_CERTIFICATE": str(certificate[0]), "REPLICATOR_TLS_KEY": str(certificate[1])}
        self.logins: dict[str, dict[str, str]] = {}
        for user in ("core", "server", "monitor", "admin"):
            file = login(folder, user, ca=self.ca, password=passwords[user])
            self.logins[user] = {_CONFIG: str(file)} | (listener if user in ("server", "monitor") else {})

    def establish(self) -> None:
        """`replicator cluster init`, as soon as ZooKeeper serves."""
        self.zookeeper.start()
        identities = [f"--{role}=@{self.logins[role][_CONFIG]}" for role in ("core", "server", "monitor")]
        status, said = self._as_administrator("cluster", "init", *identities)
        if status:
            raise ServerFailed("replicator cluster init", f"exit status {status}: {said}")

    def check(self) -> tuple[bool, str]:
        """`replicator check --security`: whether it finds nothing wrong, and what it printed."""
        status, said = self._as_administrator("check", "--security")
        return status == 0, said

    def _as_administrator(self, *arguments: str) -> tuple[int, str]:
        # What this machine has besides the demo is none of its business.
        own = {SECRETS_DIRECTORY: str(self._folder), "XDG_STATE_HOME": str(self._folder)}
        done = subprocess.run(
            [str(CLI), *arguments, "--zookeeper", self.zookeeper.address],
            env={**os.environ, **own, **self.logins["admin"]},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).strip()


class SecurityCheck:
    """`replicator check --security`, while something else is done."""

    def __init__(self, secured: Secured) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._answer: Future[tuple[bool, str]] = self._pool.submit(secured.check)

    def result(self) -> tuple[bool, str]:
        with self._pool:
            return self._answer.result()
