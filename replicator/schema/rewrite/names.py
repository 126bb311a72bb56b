"""What a rewritten statement needs to know about names at the target, and its result."""

from __future__ import annotations

from typing import Protocol

import msgspec

from replicator.schema.token_cursor import Name


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class NoRewrite(Exception):
    """The statement can't be rewritten safely. `args`: why, and what to do."""

    @property
    def fix(self) -> str:
        return str(self.args[1]) if len(self.args) > 1 else ""


class Added(msgspec.Struct, frozen=True):
    """A column of the target with a constant. `key`: it is a part of each unique key."""

    name: str
    key: bool = False

    @property
    def definition(self) -> str:
        """Of 63 characters, as transforms allow. Names of shards that differ in their case are not the same."""
        return f"{quoted(self.name)} VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"


class Columns(msgspec.Struct, frozen=True):
    """Columns of a table whose images are not the source's: keys are names at the source, in lower case.

    Attributes:
        renamed: new names.
        hidden: columns that the target does not have.
        masked: columns whose values at the target are not the source's.
        added: columns that only the target has.
    """

    renamed: dict[str, str] = {}
    hidden: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    added: tuple[Added, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the added columns that are a part of each unique key."""
        return tuple(each.name for each in self.added if each.key)

    def __bool__(self) -> bool:
        return bool(self.renamed or self.hidden or self.masked or self.added)

    def mentions(self, name: str) -> bool:
        """Whether the name has another meaning at the target."""
        folded = name.lower()
        return folded in self.renamed or folded in self.hidden


class TargetNames(Protocol):
    """Names at the target. Names given are complete, with the database, as the statement writes them."""

    def database(self, name: str) -> str | None:
        """None: the task has no tables of it. Raises NoRewrite: its tables go to several databases."""
        ...

    def table(self, name: Name) -> Name | None:
        """None: the table is not replicated."""
        ...

    def added(self, name: Name) -> tuple[Added, ...]:
        """Columns that only the target has."""
        ...

    def columns(self, name: Name) -> Columns:
        """Raises NoRewrite: rules concern columns of a table whose definition is not known."""
        ...


class Inherited(msgspec.Struct, frozen=True):
    """Default character set of a new table that its statement does not tell; collation "": not known."""

    charset: str
    collation: str = ""

    def __str__(self) -> str:
        return f" DEFAULT CHARACTER SET {self.charset}" + (f" COLLATE {self.collation}" if self.collation else "")


class Rewritten(msgspec.Struct, frozen=True):
    """`sql` "": nothing is left to do. `left_out`: parts that concern excluded columns. `renames`: of RENAME TABLE."""

    sql: str
    left_out: tuple[str, ...] = ()
    renames: tuple[tuple[Name, Name], ...] = ()
