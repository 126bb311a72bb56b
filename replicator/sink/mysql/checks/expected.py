"""What the source would write to a target, for the comparison with the tables that are there."""

from __future__ import annotations

import msgspec

from replicator.model.target_table import TargetTable
from replicator.mysql.table_facts import ColumnFacts, Name


class ExpectedColumn(msgspec.Struct, frozen=True):
    """`facts`: of the source; `name`: at the target; `masked`: the value is not the source's."""

    name: str
    facts: ColumnFacts
    masked: bool = False


class ExpectedTable(msgspec.Struct, frozen=True):
    """A table of the source under its name at the target.

    Attributes:
        source: `database.table` there.
        images: columns of its row images.
        primary_key, uniques: columns under their names at the target; keys with excluded columns are left out.
        cascades: parents, by their names at the target, whose changes change rows of this table at the source.
    """

    target: Name
    source: str
    columns: tuple[ExpectedColumn, ...]
    images: TargetTable
    primary_key: tuple[str, ...] = ()
    uniques: tuple[tuple[str, ...], ...] = ()
    cascades: tuple[Name, ...] = ()

    @property
    def qualified(self) -> str:
        return ".".join(self.target)


class SourceFacts(msgspec.Struct, frozen=True):
    """Attributes:
    tables: None where the source could not be asked.
    logs_cascades: rows that foreign keys change are in its binlog.
    packet: max_allowed_packet, the size of its largest row; 0 when not known.
    """

    tables: tuple[ExpectedTable, ...] | None
    mariadb: bool
    logs_cascades: bool = False
    packet: int = 0
