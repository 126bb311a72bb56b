"""Facts about one request that several layers of the application find and use: who, what, and how it ended."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model.audit import Difference
from replicator.model.principal import Principal
from replicator.telemetry.hosts import Scope

_KEY: Final = "replicator.facts"


class Facts(msgspec.Struct, kw_only=True):
    """Filled while the request is handled.

    Attributes:
        principal: None until the login is verified.
        operation: operationId of the route; "" while it is not known.
        task: the name of the task in the path, or of the one that is created.
        target: of a login, its name.
        arguments: of the command, without secrets.
        reason: what the client gives as one.
        says: what the client says of its user, not verified.
        code: of the error that the request ends with.
        changes: of a configuration or a login.
        replayed: the answer is that of an earlier request with the same idempotency key.
        request: its idempotency key, once it is known to be one.
        dry_run: nothing is changed.
        repeated: it confirms what an earlier request did, which has the entry.
    """

    principal: Principal | None = None
    operation: str = ""
    task: str = ""
    target: str = ""
    arguments: dict[str, str] = {}
    reason: str = ""
    says: str = ""
    code: str = ""
    changes: list[Difference] = []
    replayed: bool = False
    request: str = ""
    dry_run: bool = False
    repeated: bool = False

    @property
    def known(self) -> Principal:
        """Raises AssertionError without a login: every route but health has one."""
        assert self.principal is not None  # noqa: S101
        return self.principal


def facts_of(scope: Scope) -> Facts:
    """Those of this request, the same object in every layer."""
    found = scope.get(_KEY)
    if isinstance(found, Facts):
        return found
    made = scope[_KEY] = Facts()
    return made


def address_of(scope: Scope) -> str:
    """The client's address; a header such as X-Forwarded-For is not read."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def author_of(scope: Scope) -> str:
    """The name in histories: `ann@10.0.0.7`. What the client says of itself is only quoted behind it."""
    facts = facts_of(scope)
    said = f" (says {facts.says})" if facts.says else ""
    return f"{facts.known.label}@{address_of(scope)}{said}"


def said_by(headers: list[tuple[bytes, bytes]]) -> str:
    """X-Replicator-User without what could be taken for more than a name."""
    given = next((value for name, value in headers if name == b"x-replicator-user"), b"").decode("latin-1")
    return "".join(char for char in given[:100] if char.isprintable() and char not in "()").strip()
