from collections.abc import Callable, Iterable, Mapping
from typing import Any

from replicator.compiled.arena import Arena
from replicator.compiled.deferred_fields import DeferredProgram
from replicator.compiled.transactions import Transactions
from replicator.decode.plan.deferred_fields import DeferredText

ABI: int

class Loop(Transactions):
    def __init__(
        self, packets: bool = False, mariadb: bool = False, clock: Callable[[], int] | None = None
    ) -> None: ...
    def connect(
        self,
        ids: Mapping[int, Any],
        deferred_program: Callable[[DeferredText], DeferredProgram | None],
        statement_messages: Callable[..., Any],
        queries: bool,
        inflate: Callable[[bytes, int], bytes | None] | None = None,
        piece: int = 0,
    ) -> None: ...
    def run(self, buffer: bytes, at: int, arena: Arena, checksum: bool) -> int: ...
    def run_inside(self, buffer: bytes, at: int, arena: Arena, whole: bool, stamp: int) -> int: ...
    def noted(self) -> Iterable[tuple[str, list[bytes]]]: ...
    @property
    def inside_payload(self) -> bool: ...
    def begun_payload(self) -> tuple[bytes, int] | None: ...

def checksum(data: bytes, first: int = 0, crc: int = 0, folded: bool | None = None) -> int: ...
def folds() -> bool: ...
