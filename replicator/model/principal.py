"""Who makes a request: the name, the role and the tasks of a login that was verified."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import msgspec

Role: TypeAlias = Literal["viewer", "operator", "admin"]
Kind: TypeAlias = Literal["token", "user", "oidc", "certificate"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""Each includes those before it."""


class Principal(msgspec.Struct, frozen=True):
    """A verified login.

    Attributes:
        name: unique among the logins of its kind.
        selector: of labels, as in `-l`: the role is limited to tasks that it selects; "" for all tasks.
        kind: how it was verified.
    """

    name: str
    role: Role
    selector: str = ""
    kind: Kind = "token"

    @property
    def label(self) -> str:
        """The name in history and audit: a token, a certificate or an account of an identity provider can't be taken
        for the user of that name, as names of users have no colon."""
        return self.name if self.kind == "user" else f"{self.kind}:{self.name}"

    def may(self, role: Role) -> bool:
        """Whether its role is `role` or includes it."""
        return ROLES.index(self.role) >= ROLES.index(role)
