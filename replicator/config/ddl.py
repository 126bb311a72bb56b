"""What a sink that is a database does with statements of the source that change definitions."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from replicator.config.base import Model

Action: TypeAlias = Literal["apply", "stop", "ignore"]
_KINDS: Final = {
    "CREATE TABLE": "create_table",
    "ALTER TABLE": "alter_table",
    "DROP TABLE": "drop_table",
    "RENAME TABLE": "rename_table",
    "TRUNCATE TABLE": "truncate",
    "CREATE INDEX": "create_index",
    "DROP INDEX": "drop_index",
    "CREATE DATABASE": "create_database",
    "ALTER DATABASE": "alter_database",
    "DROP DATABASE": "drop_database",
}


class DdlRules(Model):
    create_table: Action = Field("apply", description="CREATE TABLE")
    alter_table: Action = Field("apply", description="ALTER TABLE")
    drop_table: Action = Field("apply", description="DROP TABLE")
    rename_table: Action = Field("apply", description="RENAME TABLE")
    truncate: Action = Field("apply", description="TRUNCATE TABLE")
    create_index: Action = Field("apply", description="CREATE INDEX")
    drop_index: Action = Field("apply", description="DROP INDEX")
    create_database: Action = Field("apply", description="CREATE DATABASE")
    alter_database: Action = Field("apply", description="ALTER DATABASE")
    drop_database: Action = Field(
        "stop", description="DROP DATABASE; the target's database may have tables that the source's did not have"
    )
    others: Literal["stop", "ignore"] = Field(
        "ignore", description="views, triggers, routines, events, accounts and all other statements"
    )

    def action(self, kind: str) -> Action:
        """`kind`: as in `metadata_event.Statement`."""
        found: Action = getattr(self, _KINDS.get(kind, "others"))
        return found

    @property
    def applies(self) -> bool:
        """Statements of some kind are executed."""
        return any(self.action(kind) == "apply" for kind in _KINDS)


def _form(value: Any) -> str:
    return "rules" if isinstance(value, dict | DdlRules) else "a word"


DdlChoice = Annotated[Annotated[Action, Tag("a word")] | Annotated[DdlRules, Tag("rules")], Discriminator(_form)]


def rules_of(choice: Action | DdlRules) -> DdlRules:
    """A word is for all kinds but `others`, which are never executed."""
    if isinstance(choice, DdlRules):
        return choice
    return DdlRules.model_validate(dict.fromkeys(_KINDS.values(), choice))
