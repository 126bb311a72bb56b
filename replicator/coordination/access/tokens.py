"""Tokens of machines and people: znodes /tokens/ID with the hash of each.

A token is `repl_ID_SECRET`: ID finds the record and follows from the name, so that names are unique; SECRET has 256
random bits. Of those a plain SHA-256 can't be guessed back, so that a slow hash would protect nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final, NamedTuple

from replicator.coordination.access.names import checked
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import TokenRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, ProcessError
from replicator.model.principal import Principal, Role

RESERVED: Final = "server"
"""Name of the token in the Server's file."""
MOST: Final = 1000
_TOKEN: Final = re.compile(r"repl_(?P<id>[0-9a-f]{16})_[A-Za-z0-9_-]{43}")


class Made(NamedTuple):
    """A token that was created; `secret` is known at this moment only."""

    secret: str
    record: TokenRecord


def token_id(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def id_of(secret: str) -> str | None:
    """None for what is not a token of ours."""
    match = _TOKEN.fullmatch(secret)
    return match["id"] if match else None


def principal(record: TokenRecord, secret: str, time_ms: int) -> Principal | None:
    """None: another secret, or expired."""
    if not hmac.compare_digest(record.sha256, _hash(secret)) or expired(record, time_ms):
        return None
    return Principal(record.name, record.role, record.selector, "token")


def expired(record: TokenRecord, time_ms: int) -> bool:
    return bool(record.expires_ms) and time_ms >= record.expires_ms


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Tokens:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def create(self, name: str, role: Role, selector: str, expires_ms: int, by: str) -> Made:
        """expires_ms: 0 for never. Raises ConfigError E1003, NodeExists E5070."""
        checked(name, "token")
        exists = NodeExists(
            "E5070", f"token '{name}' already exists", fix=f"Revoke it first, or use another name: {_SEE}"
        )
        if name == RESERVED:
            raise exists
        if len(self.ids()) >= MOST:
            raise ProcessError("E5070", "there are too many tokens", found=str(MOST), fix=f"Revoke some: {_SEE}")
        secret = f"repl_{token_id(name)}_{secrets.token_urlsafe(32)}"
        record = TokenRecord(
            name=name,
            sha256=_hash(secret),
            role=role,
            selector=selector,
            created_by=by,
            created_ms=now_ms(),
            expires_ms=expires_ms,
        )
        try:
            self._coordinator.create(self._layout.token(token_id(name)), dump(record), parents=True)
        except NodeExists:
            raise exists from None
        return Made(secret, record)

    def records(self) -> list[TokenRecord]:
        """By name. Records that can't be read are left out: nobody logs in with them either."""
        found = []
        for id_ in self.ids():
            try:
                record = self.read(id_)
            except CoordinationError as error:
                if error.transient:
                    raise
                continue
            found += [record] if record is not None else []
        return sorted(found, key=lambda record: record.name)

    def ids(self) -> list[str]:
        try:
            return self._coordinator.children(self._layout.tokens)
        except NodeMissing:
            return []

    def read(self, id_: str) -> TokenRecord | None:
        """None: there is no such token. Raises CoordinationError E4009, E4010."""
        path = self._layout.token(id_)
        try:
            return load(TokenRecord, self._coordinator.get(path).data, path)
        except NodeMissing:
            return None

    def revoke(self, name: str) -> None:
        """Raises NodeMissing E5071. Also of a record that can't be read."""
        try:
            self._coordinator.delete(self._layout.token(token_id(name)))
        except NodeMissing:
            raise NodeMissing("E5071", f"there is no token '{name[:70]}'", fix=_SEE) from None


_SEE: Final = "`replicator token list` shows them."
