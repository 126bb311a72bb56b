from collections.abc import Sequence

from replicator.model.packed_records import Block

ABI: int

def net(
    parts: list[tuple[bytes, bytes] | tuple[Sequence[Block], str]],
    sizes: Sequence[int],
    key: Sequence[int],
    unique: Sequence[int],
    most: int,
    count: int,
    keys: list[tuple[int, ...]],
) -> list[list[tuple[bytes, int, bytes]]] | None: ...
