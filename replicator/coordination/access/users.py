"""People with a password: znodes /users/NAME."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.coordination.access import passwords
from replicator.coordination.access.names import checked, is_valid
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import UserRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, ProcessError
from replicator.model.principal import Principal, Role

MOST: Final = 1000
_SEE: Final = "`replicator user list` shows them."


def principal(record: UserRecord) -> Principal:
    return Principal(record.name, record.role, record.selector, "user")


class Users:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def create(self, name: str, password: str, role: Role, selector: str, by: str) -> UserRecord:
        """Raises ConfigError E1003, NodeExists E5070."""
        checked(name, "user")
        passwords.checked(password)
        if len(self.names()) >= MOST:
            raise ProcessError("E5070", "there are too many users", found=str(MOST), fix=f"Remove some: {_SEE}")
        record = UserRecord(
            name=name,
            password=passwords.hashed(password),
            role=role,
            selector=selector,
            created_by=by,
            created_ms=now_ms(),
        )
        try:
            self._coordinator.create(self._layout.user(name), dump(record), parents=True)
        except NodeExists:
            raise NodeExists("E5070", f"user '{name}' already exists", fix=_SEE) from None
        return record

    def records(self) -> list[UserRecord]:
        """By name. Records that can't be read are left out: nobody logs in with them either."""
        found = []
        for name in self.names():
            try:
                record = self.read(name)
            except CoordinationError as error:
                if error.transient:
                    raise
                continue
            found += [record] if record is not None else []
        return found

    def names(self) -> list[str]:
        try:
            return sorted(map(unescape, self._coordinator.children(self._layout.users)))
        except NodeMissing:
            return []

    def read(self, name: str) -> UserRecord | None:
        """None: there is no such user. Raises CoordinationError E4009, E4010."""
        return self._read(name)[0]

    def _read(self, name: str) -> tuple[UserRecord | None, int]:
        if not is_valid(name):
            return None, -1
        path = self._layout.user(name)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return None, -1
        return load(UserRecord, node.data, path), node.stat.version

    def set_password(self, name: str, password: str) -> None:
        """Raises NodeMissing E5071, ConfigError E1003, VersionConflict E4006."""
        passwords.checked(password)
        self._change(name, password=passwords.hashed(password))

    def set_role(self, name: str, role: Role, selector: str) -> UserRecord:
        """Returns the user as it was. Raises NodeMissing E5071, VersionConflict E4006."""
        return self._change(name, role=role, selector=selector)

    def _change(self, name: str, **fields: str) -> UserRecord:
        record, version = self._read(name)
        if record is None:
            raise _missing(name)
        try:
            changed = msgspec.structs.replace(record, **fields)
            self._coordinator.set(self._layout.user(name), dump(changed), version)
        except NodeMissing:
            raise _missing(name) from None
        return record

    def remove(self, name: str) -> None:
        """Raises NodeMissing E5071. Also of a record that can't be read."""
        if not is_valid(name):
            raise _missing(name)
        try:
            self._coordinator.delete(self._layout.user(name))
        except NodeMissing:
            raise _missing(name) from None


def _missing(name: str) -> NodeMissing:
    return NodeMissing("E5071", f"there is no user '{name[:70]}'", fix=_SEE)
