from collections.abc import Sequence

from replicator.model.packed_records import Block

ABI: int

def runs(blocks: Sequence[Block], statement: str, most: int) -> list[tuple[str, bytes, int, bytes]]: ...
def sections(
    blocks: Sequence[Block], statement: str, most: int
) -> list[tuple[tuple[Block, ...], bytes | None, tuple[tuple[str, int, int, int], ...]]]: ...
