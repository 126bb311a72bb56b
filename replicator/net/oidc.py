"""Verifies tokens of an OIDC identity provider: JWT, against its published keys."""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx
import jwt

from replicator.config.oidc import OidcConfig, is_fetchable
from replicator.errors import ConfigError, ProcessError
from replicator.model.principal import Principal
from replicator.net.connections import host_lists
from replicator.net.http_transport import CheckedTransport

_FRESH_S: Final = 600.0
"""Keys that the provider has withdrawn are accepted for this long."""
_RETRY_S: Final = 15.0
"""Between two attempts: tokens that name unknown keys cost one request in this time, whatever their number."""
_OUTAGE_S: Final = 3600.0
"""While the provider can't be reached, the keys that it had are accepted for this long."""
_TIMEOUT_S: Final = 5.0
_MOST_BYTES: Final = 512 * 1024
_NAME: Final = re.compile(r"[^\s()]{1,128}")
Keys = list[jwt.PyJWK]


class KeySet:
    """The provider's keys, cached. Thread-safe."""

    def __init__(self, config: OidcConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: Keys = []
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._problem = ""

    def find(self, kid: str | None) -> jwt.PyJWK | None:
        """The key of this id; without an id the only key. Reads the keys again where they are old, or lack the id:
        providers rotate them. Raises ProcessError E5077 where there are none."""
        with self._lock:
            now = self._clock()
            if self._read_at is None or now - self._read_at >= _FRESH_S or self._of(kid) is None:
                self._refresh(now)
            if self._read_at is None or now - self._read_at >= _OUTAGE_S:
                raise ProcessError("E5077", "the keys of the identity provider can't be read", found=self._problem)
            return self._of(kid)

    def _of(self, kid: str | None) -> jwt.PyJWK | None:
        if kid is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == kid), None)

    def _refresh(self, now: float) -> None:
        if self._tried_at is not None and now - self._tried_at < _RETRY_S:
            return
        self._tried_at = now
        try:
            self._keys = self._read()
            self._read_at = now
            self._problem = ""
        except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL, jwt.PyJWTError, ConfigError) as error:
            self._problem = f"{type(error).__name__}: {error}"[:200]

    def _read(self) -> Keys:
        where = self._config.jwks or self._discovered()
        data = self._fetch(where) if is_fetchable(where) else json.loads(Path(where).read_bytes())
        keys = jwt.PyJWKSet.from_dict(data).keys
        return [key for key in keys if key.key_type in ("RSA", "EC", "OKP")]

    def _discovered(self) -> str:
        document = self._fetch(self._config.issuer.rstrip("/") + "/.well-known/openid-configuration")
        where = document.get("jwks_uri")
        if document.get("issuer") != self._config.issuer or not isinstance(where, str) or not is_fetchable(where):
            raise ValueError("the document of the provider is of another issuer, or has no jwks_uri with https")
        return where

    def _fetch(self, url: str) -> dict[str, Any]:
        verify = ssl.create_default_context(cafile=self._config.ca or None)
        with (
            httpx.Client(transport=CheckedTransport(verify, host_lists), timeout=_TIMEOUT_S, trust_env=False) as http,
            http.stream("GET", url) as answer,
        ):
            answer.raise_for_status()
            content = b""
            for chunk in answer.iter_bytes():
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise ValueError("the answer is too large")
        found = json.loads(content)
        if not isinstance(found, dict):
            raise ValueError("the answer is not a JSON object")
        return found


class Oidc:
    """Thread-safe; blocks while keys are read."""

    def __init__(self, config: OidcConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._keys = KeySet(config, clock)

    def authenticate(self, secret: str) -> Principal:
        """Raises ProcessError E5006 with the reason, E5077 while there are no keys."""
        try:
            claims = self._claims(secret)
        except jwt.PyJWTError as error:
            raise _refused(str(error)[:200] or type(error).__name__) from None
        name = claims.get(self._config.name_claim)
        if not isinstance(name, str) or not name.isprintable() or not _NAME.fullmatch(name):
            raise _refused(f"the claim {self._config.name_claim} is missing or not usable as a name")
        held = _values(claims, self._config.role_claim)
        for rule in self._config.roles:
            if rule.value in held:
                return Principal(name, rule.role, rule.selector, "oidc")
        raise _refused(f"no value of the claim {self._config.role_claim} has a role")

    def _claims(self, secret: str) -> dict[str, Any]:
        header = jwt.get_unverified_header(secret)
        kid = header.get("kid")
        if header.get("alg") not in self._config.algorithms:
            raise _refused("the algorithm is not accepted")
        key = self._keys.find(kid if isinstance(kid, str) else None)
        if key is None:
            raise _refused("the token is signed with an unknown key")
        return jwt.decode(
            secret,
            key,
            algorithms=list(self._config.algorithms),
            audience=self._config.audience,
            issuer=self._config.issuer,
            leeway=self._config.leeway_s,
            options={"require": ["exp", "iss", "aud"]},
        )


def _values(claims: dict[str, Any], path: str) -> set[str]:
    """A claim whose name has dots, as those of URLs, is found by its whole name first."""
    found: Any = claims.get(path)
    if found is None:
        found = claims
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    listed = found if isinstance(found, list) else [found]
    return {value for value in listed if isinstance(value, str)}


def _refused(reason: str) -> ProcessError:
    return ProcessError("E5006", "the token of the identity provider is not accepted", found=reason)
