from typing import NamedTuple

from typing_extensions import disjoint_base

class Id(NamedTuple):
    scheme: str
    id: str

@disjoint_base
class ACL(NamedTuple):
    perms: int
    id: Id

OPEN_ACL_UNSAFE: list[ACL]
CREATOR_ALL_ACL: list[ACL]

def make_digest_acl(
    username: str,
    password: str,
    read: bool = False,
    write: bool = False,
    create: bool = False,
    delete: bool = False,
    admin: bool = False,
    all: bool = False,
) -> ACL: ...
