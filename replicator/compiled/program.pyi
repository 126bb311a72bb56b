from collections.abc import Callable
from typing import Any

from replicator.decode.plan.row_function import Rows
from replicator.decode.plan.variable_values import Context
from replicator.model.batch import Record

ABI: int

class Program:
    def __init__(
        self,
        spec: Any,
        twin: Callable[[], Rows],
        prepare: Callable[[Context], list[bytes]],
        others: Rows | None = None,
    ) -> None: ...
    def __call__(
        self, b: bytes, s: str, p: int, end: int, row: int, append: Callable[[Record], None], context: Context
    ) -> tuple[int, int]: ...
    def of_images(
        self,
        header: bytes,
        b: bytes,
        p: int,
        end: int,
        row: int,
        append: Callable[[Record], None],
        context: Context,
        spend: bool = False,
    ) -> tuple[int, int] | None: ...
