"""People with a password: znodes /users/NAME."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from replicator.coordination.access import passwords
from replicator.coordination.access.names import checked, is_valid
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import UserRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, ProcessError, VersionConflict
from replicator.model.principal import Principal, Role

MOST: Final = 1000
TOKEN_USER: Final = "token"  # noqa: S105
"""With this name a browser, which asks for name and password, sends a token as the password."""
_SEE: Final = "`replicator user list` shows them."


def principal(record: UserRecord) -> Principal:
    return Principal(record.name, record.role, record.selector, "user")


class UserNode(NamedTuple):
    """`version`: changes with each change of the user."""

    record: UserRecord
    version: int


class Users:
    """Args: cost: of the hashes of new passwords."""

    def __init__(self, coordinator: Coordinator, layout: Layout, cost: passwords.Cost = passwords.COST) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._cost = cost

    def create(self, name: str, password: str, role: Role, selector: str, by: str) -> UserNode:
        """Raises ConfigError E1003, NodeExists E5070."""
        checked(name, "user")
        passwords.checked(password)
        if name == TOKEN_USER:
            raise NodeExists("E5070", f"the name '{name}' is reserved", fix="Use another name.")
        if len(self.names()) >= MOST:
            raise ProcessError("E5070", "there are too many users", found=str(MOST), fix=f"Remove some: {_SEE}")
        record = UserRecord(
            name=name,
            password=passwords.hashed(password, self._cost),
            role=role,
            selector=selector,
            created_by=by,
            created_ms=now_ms(),
        )
        try:
            self._coordinator.create(self._layout.user(name), dump(record), parents=True)
        except NodeExists:
            raise NodeExists("E5070", f"user '{name}' already exists", fix=_SEE) from None
        return UserNode(record, 0)

    def records(self) -> list[UserNode]:
        """By name. Records that can't be read are left out: nobody logs in with them either."""
        found = []
        for name in self.names():
            try:
                node = self.read(name)
            except CoordinationError as error:
                if error.transient:
                    raise
                continue
            found += [node] if node is not None else []
        return found

    def names(self) -> list[str]:
        try:
            return sorted(map(unescape, self._coordinator.children(self._layout.users)))
        except NodeMissing:
            return []

    def read(self, name: str) -> UserNode | None:
        """None: there is no such user. Raises CoordinationError E4009, E4010."""
        if not is_valid(name):
            return None
        path = self._layout.user(name)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return None
        return UserNode(load(UserRecord, node.data, path), node.stat.version)

    def set_password(self, name: str, password: str, version: int | None = None) -> UserNode:
        """Raises NodeMissing E5071, ConfigError E1003, VersionConflict E4006."""
        passwords.checked(password)
        return self._change(name, version, {"password": passwords.hashed(password, self._cost)})[1]

    def set_role(self, name: str, role: Role, selector: str, version: int | None = None) -> tuple[UserNode, UserNode]:
        """Returns the user before and after. Raises NodeMissing E5071, VersionConflict E4006."""
        return self._change(name, version, {"role": role, "selector": selector})

    def _change(self, name: str, version: int | None, fields: dict[str, str]) -> tuple[UserNode, UserNode]:
        """version: the caller's idea of the present version, or None for any."""
        present = self.read(name)
        if present is None:
            raise _missing(name)
        if version is not None and version != present.version:
            what, found = f"user '{name}' was changed by another process", f"version {present.version}"
            raise VersionConflict("E4006", what, found=found, wanted=f"{version}")
        changed = msgspec.structs.replace(present.record, **fields)
        try:
            stat = self._coordinator.set(self._layout.user(name), dump(changed), present.version)
        except NodeMissing:
            raise _missing(name) from None
        return present, UserNode(changed, stat.version)

    def remove(self, name: str, version: int | None = None) -> None:
        """Also of a record that can't be read. `version`: the caller's idea of the present version, or None for any.
        Raises NodeMissing E5071, VersionConflict E4006."""
        if not is_valid(name):
            raise _missing(name)
        try:
            self._coordinator.delete(self._layout.user(name), -1 if version is None else version)
        except NodeMissing:
            raise _missing(name) from None
        except VersionConflict:
            what = f"user '{name}' was changed by another process"
            raise VersionConflict("E4006", what, wanted=f"version {version}", fix=_SEE) from None


def _missing(name: str) -> NodeMissing:
    return NodeMissing("E5071", f"there is no user '{name[:70]}'", fix=_SEE)
