"""The configuration of an OIDC identity provider, whose tokens (JWT) the Server accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import yaml

from replicator.config.labels import parse_selector
from replicator.errors import ConfigError, ProcessError
from replicator.host.network import is_loopback
from replicator.model.decoding import converted
from replicator.model.principal import Role

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric ones only: who can verify a token of another one can also make one."""
_MOST_BYTES: Final = 256 * 1024


class RoleRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who has `value` among the values of the claim has the role, for tasks that `selector` includes ("": all)."""

    value: str
    role: Role
    selector: str = ""


class OidcConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file of --oidc.

    Attributes:
        issuer: the claim `iss`; also where the provider is discovered when `jwks` is not given.
        audience: one of the claim `aud`.
        jwks: URL or file of the keys.
        ca: file with the authorities that sign the provider's certificate; default: those of the system.
        name_claim: whose value is the name in history and audit; it has to be unique and constant.
        role_claim: path of the claim with the roles, such as `realm_access.roles`: a text or a list.
        roles: the first that applies counts; a token without one is refused.
        leeway_s: that clocks may differ by.
    """

    issuer: str
    audience: str
    roles: tuple[RoleRule, ...]
    jwks: str = ""
    ca: str = ""
    name_claim: str = "sub"
    role_claim: str = "groups"
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    leeway_s: int = 30


def read_oidc(path: Path) -> OidcConfig:
    """Raises ProcessError E5077, ConfigError E1031."""
    try:
        raw = path.read_bytes()
        if len(raw) > _MOST_BYTES:
            raise ValueError("the file is too large")
        config = converted(_mapping(yaml.safe_load(raw)), OidcConfig)
    except (OSError, ValueError, yaml.YAMLError, msgspec.ValidationError) as error:
        found = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())[:300]
        raise ProcessError("E5077", f"{path} is not a configuration of OIDC", found=found or "") from None
    _check(config, str(path))
    return config


def _mapping(data: Any) -> Any:
    if not isinstance(data, dict):
        raise ValueError("the file is not a mapping of keys to values")
    return data


def _check(config: OidcConfig, path: str) -> None:
    if not config.audience or not config.issuer:
        raise ProcessError("E5077", f"{path} has no issuer or no audience")
    wrong = [name for name in config.algorithms if name not in ALGORITHMS]
    if wrong or not config.algorithms:
        wanted = ", ".join(ALGORITHMS)
        raise ProcessError(
            "E5077", f"{path} has an algorithm that is not accepted", found=", ".join(wrong), wanted=wanted
        )
    if not config.roles:
        raise ProcessError("E5077", f"{path} gives no role to any value of `{config.role_claim}`")
    if not 0 <= config.leeway_s <= 300:
        raise ProcessError("E5077", f"{path} has an invalid leeway_s", found=str(config.leeway_s), wanted="0 to 300")
    for rule in config.roles:
        if rule.selector:
            try:
                parse_selector(rule.selector)
            except ConfigError as error:
                what = f"{path} has an invalid selector for '{rule.value}'"
                raise ProcessError("E5077", what, found=error.found, wanted=error.wanted) from None
    for url in (config.jwks, "" if config.jwks else config.issuer):
        if url and not is_fetchable(url) and not Path(url).is_absolute():
            wanted = "https://..., or an absolute path for `jwks`"
            raise ProcessError("E5077", f"{path} has no usable address of the keys", found=url[:200], wanted=wanted)


def is_fetchable(url: str) -> bool:
    """https, or http on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))
