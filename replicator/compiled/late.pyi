from collections.abc import Sequence

from replicator.decode.plan.deferred_fields import DeferredText

ABI: int

class LateProgram:
    late: DeferredText
    def __init__(
        self,
        late: DeferredText,
        row: Sequence[bytes | tuple[str, bytes | None]],
        last: Sequence[bytes | tuple[str, bytes | None]],
    ) -> None: ...
