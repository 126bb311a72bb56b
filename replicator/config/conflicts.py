"""What a sink that is a database does with rows that are not what the source says they were."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, model_validator

from replicator.config.annotated import Tables, own_check
from replicator.config.base import Model
from replicator.config.tables import TableFilter
from replicator.errors import ConfigError

Policy: TypeAlias = Literal["stop", "source_wins", "newest_wins", "keep_target", "dead_letter"]
SimplePolicy: TypeAlias = Literal["stop", "source_wins", "keep_target", "dead_letter"]
_EVERY = ("*.*",)


class ConflictRule(Model):
    tables: Tables = Field(
        _EVERY,
        description="tables that the rule applies to, as they are named at the source; patterns as in source.tables",
    )
    policy: Policy = Field(
        description="stop the task; source_wins: the row becomes what it is at the source; newest_wins: the row with "
        "the greater value of a column remains; keep_target: the target's row remains; dead_letter: as keep_target, "
        "and the change is kept in the table replicator_conflicts until an operator deletes it"
    )
    column: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        None, description="with newest_wins only: column of the target's table, NOT NULL, an integer or a time"
    )
    compare: Literal["key", "row"] | None = Field(
        None,
        description="row: rows are read before each transaction, so that a row that differs in any column is "
        "noticed; key: only a missing row and a row or unique value that exists are noticed, and rows are read only "
        "then; default: key for stop, row for the other policies",
    )

    @model_validator(mode="after")
    def _column_as_needed(self) -> ConflictRule:
        return own_check(self, _check_column)

    @property
    def reads_rows(self) -> bool:
        """Before each transaction."""
        return (self.compare or ("key" if self.policy == "stop" else "row")) == "row"

    @property
    def looks(self) -> bool:
        """At rows of the target, in one way or another."""
        return self.policy != "stop" or self.reads_rows


def _check_column(rule: ConflictRule) -> None:
    if rule.policy == "newest_wins" and rule.column is None:
        raise ConfigError("E1003", "newest_wins without a column", wanted="column: the column that is compared")
    if rule.policy != "newest_wins" and rule.column is not None:
        raise ConfigError("E1003", f"a column with {rule.policy}", found=rule.column, wanted="newest_wins")
    if rule.policy == "newest_wins" and rule.compare == "key":
        raise ConfigError(
            "E1003", "newest_wins with compare: key", wanted="compare: row: an older update would replace a newer row"
        )


def _form(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "rules"
    return "rule" if isinstance(value, dict | ConflictRule) else "a word"


ConflictChoice = Annotated[
    Annotated[SimplePolicy, Tag("a word")]
    | Annotated[ConflictRule, Tag("rule")]
    | Annotated[tuple[ConflictRule, ...], Field(max_length=1000), Tag("rules")],
    Discriminator(_form),
]


def rules_of(choice: SimplePolicy | ConflictRule | tuple[ConflictRule, ...]) -> tuple[ConflictRule, ...]:
    if isinstance(choice, ConflictRule):
        return (choice,)
    return choice if isinstance(choice, tuple) else (ConflictRule(policy=choice),)


def rule_of(rules: tuple[ConflictRule, ...], table: str) -> ConflictRule | None:
    """The first whose tables match `database.table`; None: conflicts stop the task, and rows are not compared."""
    return next((rule for rule in rules if TableFilter(rule.tables).chooses(table)), None)
