"""Records stored consecutively by the compiled decoder, without an object for each.

They are a sequence of `model.batch.Record` like any other; whoever can take them as they are (the Kafka sink) looks at
the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias, overload

from replicator.model.batch import Record


class Arena(Protocol):
    """Memory with records in it: `replicator.compiled.arena.Arena`."""

    def record(self, index: int) -> Record: ...


Block: TypeAlias = "tuple[Arena, int, int]"
"""(arena, first record, behind the last one)"""


class PackedRecords(Sequence[Record]):
    """Args:
    blocks: in order. The arenas do not change any more.
    """

    __slots__ = ("_count", "blocks")

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self.blocks = blocks
        count = 0
        for _, first, last in blocks:
            count += last - first
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Record]:
        for arena, first, last in self.blocks:
            for index in range(first, last):
                yield arena.record(index)

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...

    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        if isinstance(index, slice):
            return list(self)[index]
        at = index + self._count if index < 0 else index
        for arena, first, last in self.blocks:
            if 0 <= at < last - first:
                return arena.record(first + at)
            at -= last - first
        raise IndexError(index)

    def __add__(self, other: PackedRecords) -> PackedRecords:
        """Both, without a copy."""
        return PackedRecords(self.blocks + other.blocks)

    def __eq__(self, other: object) -> bool:
        """Also to a list of the same records."""
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PackedRecords({list(self)!r})"
