"""Finds out who makes a request: by the token of the Server's file, a token or user in ZooKeeper, or a JWT."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar

from replicator.coordination.access.logins import Logins
from replicator.coordination.access.tokens import RESERVED
from replicator.coordination.access.users import TOKEN_USER
from replicator.errors import ProcessError
from replicator.model.principal import Principal

T = TypeVar("T")
_MOST: Final = 16_384
"""Bytes of the header: a JWT may have thousands."""


class Verifier(Protocol):
    """Of JWTs. Blocks. Raises ProcessError E5006 with the reason, E5077 while it can't verify any."""

    def authenticate(self, secret: str) -> Principal: ...


class Authentication:
    """Passwords and tokens are verified in threads of their own: hashing passwords that strangers send must not delay
    the requests of others."""

    def __init__(
        self,
        token: str,
        logins: Logins,
        jwt: Verifier | None = None,
        certificates: Mapping[str, Principal] | None = None,
    ) -> None:
        self._certificates = certificates or {}
        self._token = token.encode()
        self._logins = logins
        self._jwt = jwt
        self._lookups = ThreadPoolExecutor(4, "logins")
        self._hashing = ThreadPoolExecutor(2, "passwords")
        self._provider = ThreadPoolExecutor(2, "oidc")

    def close(self) -> None:
        for threads in (self._lookups, self._hashing, self._provider):
            threads.shutdown(wait=False, cancel_futures=True)

    async def principal(self, headers: list[tuple[bytes, bytes]], common_name: str = "") -> Principal:
        """`common_name`: of the client's certificate, which counts where the request carries no other login. Raises
        ProcessError E5006; NotConnected where ZooKeeper is needed and away."""
        given = [bytes(value) for name, value in headers if name == b"authorization"]
        if not given and common_name in self._certificates:
            return self._certificates[common_name]
        if len(given) != 1 or len(given[0]) > _MOST:
            raise _refusal()
        scheme, _, rest = given[0].partition(b" ")
        secret = rest.strip()
        if scheme.lower() == b"bearer":
            found = await self._bearer(secret)
        elif scheme.lower() == b"basic":
            found = await self._basic(secret)
        else:
            found = None
        if found is None:
            raise _refusal()
        return found

    async def _bearer(self, secret: bytes) -> Principal | None:
        if hmac.compare_digest(secret, self._token):
            return Principal(RESERVED, "admin", "", "token")
        try:
            text = secret.decode("ascii")
        except UnicodeDecodeError:
            return None
        if self._jwt is not None and text.count(".") == 2:
            verifier = self._jwt
            return await _in(self._provider, lambda: verifier.authenticate(text))
        return await _in(self._lookups, lambda: self._logins.authenticate(text))

    async def _basic(self, given: bytes) -> Principal | None:
        try:
            name, colon, password = base64.b64decode(given, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        if not colon:
            return None
        if name == TOKEN_USER:
            return await self._bearer(password.encode())
        return await _in(self._hashing, lambda: self._logins.authenticate_user(name, password))


async def _in(threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, call)


def _refusal() -> ProcessError:
    return ProcessError(
        "E5006", "the API requires a login", wanted="Authorization: Bearer TOKEN, or Basic with user and password"
    )
