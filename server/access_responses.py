"""Response types of logins and of the audit."""

from __future__ import annotations

import msgspec

from replicator.coordination.access import tokens
from replicator.coordination.access.users import UserNode
from replicator.coordination.records import TokenRecord
from replicator.model.audit import AuditEntry
from replicator.model.principal import Principal, Role
from server.responses import View


class Token(msgspec.Struct, kw_only=True):
    """A token. `secret`: only in the answer to its creation, else "". `expires_ms`: 0 for never. `selector`: of the
    labels of the tasks that it is limited to, "" for all."""

    name: str
    role: Role
    selector: str
    created_by: str
    created_ms: int
    expires_ms: int
    expired: bool
    secret: str = ""


class TokenList(View, kw_only=True):
    kind: str = "TokenList"
    items: list[Token]


class TokenCreated(View, kw_only=True):
    """`token.secret` is shown in this answer only."""

    kind: str = "TokenCreated"
    token: Token


class User(View, kw_only=True):
    """A person with a password. `version`: for If-Match."""

    kind: str = "User"
    name: str
    role: Role
    selector: str
    created_by: str
    created_ms: int
    version: int


class UserList(View, kw_only=True):
    kind: str = "UserList"
    items: list[User]


class Login(View, kw_only=True):
    """The login of a request. `login`: its kind; `label`: its name in histories and in the audit."""

    kind: str = "Login"
    login: str
    name: str
    label: str
    role: Role
    selector: str


class Audit(View, kw_only=True):
    """Entries of the audit, oldest first."""

    kind: str = "Audit"
    items: list[AuditEntry]


def token(record: TokenRecord, time_ms: int, secret: str = "") -> Token:
    fields = ("name", "role", "selector", "created_by", "created_ms", "expires_ms")
    return Token(
        **{name: getattr(record, name) for name in fields}, expired=tokens.expired(record, time_ms), secret=secret
    )


def user(node: UserNode) -> User:
    fields = ("name", "role", "selector", "created_by", "created_ms")
    return User(**{name: getattr(node.record, name) for name in fields}, version=node.version)


def login(principal: Principal) -> Login:
    return Login(
        login=principal.kind,
        name=principal.name,
        label=principal.label,
        role=principal.role,
        selector=principal.selector,
    )
