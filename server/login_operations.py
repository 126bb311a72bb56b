"""Operations on tokens and users: checked here, written to ZooKeeper."""

from __future__ import annotations

from replicator.config.labels import parse_selector
from replicator.coordination.access.logins import Logins
from replicator.coordination.access.tokens import Made, Tokens
from replicator.coordination.access.users import UserNode, Users
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import Difference, TokenRecord
from replicator.errors import ConfigError
from replicator.model.principal import ROLES, Role

LONGEST_S = 10 * 366 * 86_400


class LoginOperations:
    """Thread-safe. A change counts in this Server at once, in others and in Monitors within a second."""

    def __init__(self, coordinator: Coordinator, layout: Layout, logins: Logins) -> None:
        self._tokens = Tokens(coordinator, layout)
        self._users = Users(coordinator, layout)
        self._logins = logins

    def tokens(self) -> list[TokenRecord]:
        return self._tokens.records()

    def create_token(self, name: str, role: str, selector: str, expires_s: int, by: str) -> Made:
        """expires_s: from now, 0 for never. Raises ConfigError E1003, E1031; NodeExists E5070."""
        if not 0 <= expires_s <= LONGEST_S:
            wanted = f"0 (never) to {LONGEST_S} seconds"
            raise ConfigError("E1003", "`expires_s` has an invalid value", found=str(expires_s), wanted=wanted)
        ends = now_ms() + expires_s * 1000 if expires_s else 0
        made = self._tokens.create(name, role_of(role), checked_selector(selector), ends, by)
        self._logins.forget()
        return made

    def revoke_token(self, name: str) -> None:
        self._tokens.revoke(name)
        self._logins.forget()

    def users(self) -> list[UserNode]:
        return self._users.records()

    def create_user(self, name: str, password: str, role: str, selector: str, by: str) -> UserNode:
        made = self._users.create(name, password, role_of(role), checked_selector(selector), by)
        self._logins.forget()
        return made

    def set_password(self, name: str, password: str, version: int | None) -> UserNode:
        changed = self._users.set_password(name, password, version)
        self._logins.forget()
        return changed

    def set_role(self, name: str, role: str, selector: str, version: int | None) -> tuple[UserNode, list[Difference]]:
        before, after = self._users.set_role(name, role_of(role), checked_selector(selector), version)
        self._logins.forget()
        old, new = before.record, after.record
        pairs = (("role", old.role, new.role), ("selector", old.selector, new.selector))
        return after, [Difference(key, was, is_) for key, was, is_ in pairs if was != is_]

    def remove_user(self, name: str, version: int | None = None) -> None:
        self._users.remove(name, version)
        self._logins.forget()


def role_of(text: str) -> Role:
    """Raises ConfigError E1003."""
    for role in ROLES:
        if text == role:
            return role
    raise ConfigError("E1003", "there is no such role", found=repr(text[:40]), wanted=", ".join(ROLES))


def checked_selector(text: str) -> str:
    """In its usual form; "" selects all tasks. Raises ConfigError E1031."""
    return str(parse_selector(text)) if text else ""
