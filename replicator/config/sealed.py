"""Sealed secrets: `sealed:KEY:NUMBER:TEXT` in a configuration, encrypted by AES-256-GCM under a key of the cluster.

KEY is the id of the cluster key, NUMBER belongs to the secret and stays when it is sealed anew under another key, TEXT
is nonce and ciphertext in base64url. Installation, task, field and NUMBER are associated data: a value that is copied
to another field, task or installation does not open there.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from replicator.config import cluster_keys
from replicator.config.cluster_keys import ClusterKeys
from replicator.errors import ConfigError

PREFIX: Final = "sealed:"
PATTERN: Final = r"sealed:[0-9a-f]{8}:[0-9a-f]{16}:[A-Za-z0-9_-]+={0,2}"
_PARTS: Final = re.compile(r"sealed:(?P<key>[0-9a-f]{8}):(?P<number>[0-9a-f]{16}):(?P<text>[A-Za-z0-9_-]+={0,2})")
_NONCE: Final = 12
_LEAST: Final = _NONCE + 16


class Place(NamedTuple):
    """Where a sealed secret belongs. field: such as `source.password`."""

    installation: str
    task: str
    field: str


def seal(keys: ClusterKeys, secret: str, place: Place, number: str = "") -> str:
    """`number`: of the secret that is sealed anew."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 40 ms that commands without secrets need not wait

    number = number or secrets.token_hex(8)
    nonce = secrets.token_bytes(_NONCE)
    text = nonce + AESGCM(keys.keys[keys.sealing]).encrypt(nonce, secret.encode(), _bound(place, number))
    return f"{PREFIX}{keys.sealing}:{number}:{base64.urlsafe_b64encode(text).decode()}"


def unseal(keys: ClusterKeys, text: str, place: Place) -> str:
    """Raises ConfigError E1041: the key is not here; E1040: it does not belong here, or was changed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    match = _PARTS.fullmatch(text)
    if match is None:
        raise _not_here(place, "not a sealed value")
    key = keys.keys.get(match["key"])
    if key is None:
        raise no_key(match["key"], f"keys {', '.join(keys.keys)}")
    try:
        raw = base64.urlsafe_b64decode(match["text"])
        if len(raw) < _LEAST:
            raise _not_here(place, "a value that is cut off")
        return AESGCM(key).decrypt(raw[:_NONCE], raw[_NONCE:], _bound(place, match["number"])).decode()
    except (InvalidTag, ValueError):
        raise _not_here(place, "a value of another field, task or installation, or one that was changed") from None


def resealed(keys: ClusterKeys, text: str, place: Place, to: Place | None = None) -> str:
    """The same secret under the key that seals now, or at another place. Raises as `unseal`."""
    number = number_of(text) if to is None else ""
    return seal(keys, unseal(keys, text, place), to or place, number)


def key_of(text: str) -> str:
    """Id of the key of a sealed value."""
    return text.split(":")[1]


def number_of(text: str) -> str:
    return text.split(":")[2]


def is_sealed(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)


def sealed_fields(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Field and value of each sealed secret of a configuration."""
    for name, value in data.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from sealed_fields(value, f"{path}.")
        elif is_sealed(value):
            yield path, value


def with_field(data: Mapping[str, Any], field: str, value: str) -> dict[str, Any]:
    """A copy of `data` with another value in `field`. Raises KeyError where the section is not there."""
    name, _, rest = field.partition(".")
    return {**data, name: with_field(data[name], rest, value) if rest else value}


def without_keys(data: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in which each sealed secret is its number alone: what stays when a key is replaced."""
    return {
        name: without_keys(value)
        if isinstance(value, Mapping)
        else f"{PREFIX}{number_of(value)}"
        if is_sealed(value) and _PARTS.fullmatch(value)
        else value
        for name, value in data.items()
    }


# Which secrets this process may open: those of the tasks that it was given.

_places: dict[str, set[Place]] = {}
"""By sealed value: where it stands."""


def bind(data: Mapping[str, Any], installation: str) -> None:
    """From now on `resolve` opens the sealed secrets of this configuration."""
    for field, text in sealed_fields(data):
        _places.setdefault(text, set()).add(Place(installation, str(data.get("name", "")), field))


def resolve(text: str) -> str:
    """Raises ConfigError E1042: not of a task of this process; E1041, E1040, E1043.

    Who resolves a reference does not say for which field. So a value that stands at two places opens for neither: it
    would open for the copy, too, whose server may be its author's own.
    """
    places = sorted(_places.get(text, ()))
    if not places:
        raise ConfigError(
            "E1042",
            "a sealed secret can't be opened here",
            found="a command that runs without the cluster",
            wanted="env:NAME or file:/path, or a task that a Core runs",
        )
    place, *copies = places
    if copies:
        raise _not_here(place, f"the same value in {', '.join(f'{each.field} of {each.task!r}' for each in copies)}")
    keys = cluster_keys.configured()
    if keys is None:
        raise no_key(key_of(text), "no cluster key file")
    return unseal(keys, text, place)


def no_key(key: str, found: str) -> ConfigError:
    return ConfigError("E1041", f"the cluster key {key} is not on this host", found=found, wanted=f"key {key}")


def _bound(place: Place, number: str) -> bytes:
    return json.dumps([*place, number]).encode()


def _not_here(place: Place, found: str) -> ConfigError:
    where = f"{place.field} of '{place.task}'"
    return ConfigError(
        "E1040",
        f"the sealed secret in {where} can't be opened",
        found=found,
        wanted="a secret that was sealed for this field",
        fix=f"Set it again: `replicator task secret set {place.task} {place.field}`.",
    )
