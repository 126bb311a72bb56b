from collections.abc import Sequence

from replicator.decode.plan.deferred_fields import DeferredText

ABI: int

class DeferredProgram:
    text: DeferredText
    def __init__(
        self,
        text: DeferredText,
        row: Sequence[bytes | tuple[str, bytes | None]],
        last: Sequence[bytes | tuple[str, bytes | None]],
    ) -> None: ...
