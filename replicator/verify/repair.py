"""What a verification asks of a repair. No server is involved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from replicator.verify.compare import Difference, KeyValue, Verdict
from replicator.verify.table_pair import TablePair

Action: TypeAlias = Literal["insert", "update", "delete"]
ACTIONS: Final[dict[Verdict, Action]] = {"missing": "insert", "different": "update", "extra": "delete"}


class Repaired(msgspec.Struct):
    """
    Attributes:
        done: rows that were written, and how.
        left: rows that were not, with the reason.
    """

    done: list[tuple[KeyValue, Action]] = []
    left: dict[KeyValue, str] = {}


class Repair(Protocol):
    dry_run: bool
    """Everything is executed, and rolled back."""

    def __call__(self, table: str, pair: TablePair, differences: Sequence[Difference]) -> Repaired:
        """Makes rows of the target equal to those of the source. `table`: of the source.

        Raises:
            ProcessError: E5041, nothing can be repaired at present; E5042, this table can't be.
            The errors of either side.
        """
        ...
