from typing import NamedTuple

from typing_extensions import disjoint_base

@disjoint_base
class Connect(NamedTuple):
    protocol_version: int
    last_zxid_seen: int
    time_out: int
    session_id: int
    passwd: bytes
    read_only: bool
    def serialize(self) -> bytearray: ...
