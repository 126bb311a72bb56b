"""Configuration of transforms. Every rule uses the names of tables and columns at the source. docs/transforms.md
defines which rules of a list apply to a table."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from replicator.config import rewrite
from replicator.config.annotated import SecretRef, Tables, checked, own_check
from replicator.config.base import Model
from replicator.errors import ConfigError
from replicator.expression import parse

ColumnName = Annotated[str, Field(min_length=1, max_length=64)]
Columns = Annotated[tuple[ColumnName, ...], Field(min_length=1, max_length=4096)]
Name = Annotated[str, Field(min_length=1, max_length=64)]
Pattern = Annotated[str, Field(min_length=1), checked(rewrite.pattern)]
EVERY = ("*.*",)


class ColumnRule(Model):
    tables: Tables = Field(description="tables that the rule applies to; patterns as in source.tables")
    include: Columns | None = Field(None, description="the only columns to keep; give include or exclude, not both")
    exclude: Columns | None = Field(None, description="columns to remove")
    drop_keys: bool = Field(
        False,
        description="true: columns of the primary key may be removed; several rows may then have the same key, or none",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> ColumnRule:
        return own_check(self, _one_choice)


def _one_choice(rule: ColumnRule) -> None:
    if (rule.include is None) == (rule.exclude is None):
        found = "neither" if rule.include is None else "both"
        raise ConfigError("E1003", "a rule for columns requires include or exclude", found=found, wanted="exactly one")


class MaskRule(Model):
    tables: Tables = Field(description="tables that the rule applies to; patterns as in source.tables")
    columns: Columns = Field(description="columns to mask")
    fixed: str | None = Field(None, max_length=1000, description="replace every value by this text")
    nullify: bool = Field(False, description="true: replace every value by NULL")
    keep_last: int | None = Field(None, ge=0, le=1000, description="replace all characters except the last N by *")
    hash: SecretRef | None = Field(
        None, description="HMAC-SHA256 under this key: env:NAME, file:/path or command:PROGRAM"
    )
    encoding: Literal["hex", "base64"] = Field("hex", description="encoding of hashes")
    keys: bool = Field(False, description="true: columns of the primary key may be masked, by hash only")

    @model_validator(mode="after")
    def _one_way(self) -> MaskRule:
        return own_check(self, _one_mask)


def _one_mask(rule: MaskRule) -> None:
    given = [name for name in ("fixed", "keep_last", "hash") if getattr(rule, name) is not None]
    given += ["nullify"] * rule.nullify
    if len(given) != 1:
        raise ConfigError(
            "E1003",
            "a mask requires exactly one method",
            found=" and ".join(given) or "none",
            wanted="fixed, nullify, keep_last or hash",
        )


class RenameRule(Model):
    tables: Tables = Field(description="tables that the rule applies to; patterns as in source.tables")
    columns: dict[ColumnName, Name] = Field({}, description="column of the source -> its name in records")
    database: Name | None = Field(None, description="name of the database in records")
    table: Name | None = Field(None, description="name of the table in records")
    keys: Literal["disjoint"] | None = Field(
        None,
        description=(
            "disjoint: for sinks of type mysql and mariadb; several of these tables are written to one table, and no "
            "two of them have rows with the same key at any time; a row that does not comply stops the task"
        ),
    )

    @model_validator(mode="after")
    def _says_something(self) -> RenameRule:
        return own_check(self, _renames)


def _renames(rule: RenameRule) -> None:
    if not (rule.columns or rule.database or rule.table):
        raise ConfigError("E1003", "a rename rule without new names", wanted="columns, database or table")


class AddRule(Model):
    tables: Tables | None = Field(
        None, description="tables that the rule applies to; patterns as in source.tables; give tables or match"
    )
    match: Pattern | None = Field(
        None, description="instead of tables: regular expression over the whole of database.table"
    )
    columns: dict[Name, Annotated[str, Field(max_length=500)]] = Field(
        min_length=1,
        max_length=16,
        description="name of a column -> its text in each row, 63 characters at most; $1, ${name}: groups of match",
    )
    key: bool = Field(
        False, description="true: the columns are also the last ones of the key, so that keys of shards differ"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> AddRule:
        return own_check(self, _check_addition)


def _check_addition(rule: AddRule) -> None:
    if (rule.tables is None) == (rule.match is None):
        found = "neither" if rule.tables is None else "both"
        raise ConfigError("E1003", "a rule that adds columns requires tables or match", found=found, wanted="one")
    for text in rule.columns.values() if rule.match is not None else ():
        rewrite.check(rule.match or "", text)
    folded = [name.lower() for name in rule.columns]
    if len(set(folded)) < len(folded):
        raise ConfigError("E1003", "a rule adds two columns of one name", found=", ".join(rule.columns))


class RouteRule(Model):
    match: Pattern = Field(description="regular expression over the whole of database.table")
    topic: str = Field(min_length=1, max_length=249, description="topic of these tables; $1, ${name}: groups of match")
    key_field: Name | None = Field(None, description="field added to keys and rows, so that keys of shards differ")
    key_value: str | None = Field(
        None,
        max_length=200,
        description="text of that field, may contain groups of match; default: the name of the table",
    )

    @model_validator(mode="after")
    def _fits(self) -> RouteRule:
        return own_check(self, _check_route)


def _check_route(rule: RouteRule) -> None:
    rewrite.check(rule.match, rule.topic)
    rewrite.check(rule.match, rule.key_value or "")
    if rule.key_value is not None and rule.key_field is None:
        raise ConfigError("E1003", "key_value is given without key_field", wanted="both, or none")


class FilterRule(Model):
    tables: Tables = Field(description="tables that the rule applies to; patterns as in source.tables")
    where: Annotated[str, Field(min_length=1), checked(parse)] = Field(
        description="expression that rows must satisfy, see `replicator docs transforms`"
    )


class OperationRule(Model):
    tables: Tables = Field(EVERY, description="tables that the rule applies to; patterns as in source.tables")
    skip: tuple[Literal["insert", "update", "delete", "truncate"], ...] = Field(
        min_length=1, description="operations that produce no record"
    )


class PartitionRule(Model):
    tables: Tables = Field(EVERY, description="tables that the rule applies to; patterns as in source.tables")
    by: Literal["primary_key", "table", "database", "columns", "transaction"] = Field(
        description="records with the same value of this are in one partition"
    )
    columns: tuple[ColumnName, ...] = Field(
        (), max_length=100, description="columns whose values select the partition; only with by: columns"
    )

    @model_validator(mode="after")
    def _columns_when_asked(self) -> PartitionRule:
        return own_check(self, _check_partition)


def _check_partition(rule: PartitionRule) -> None:
    if (rule.by == "columns") != bool(rule.columns):
        raise ConfigError(
            "E1003", "`columns` requires `by: columns`, and the reverse", found=f"by: {rule.by}", wanted="both, or none"
        )


class Transforms(Model):
    columns: tuple[ColumnRule, ...] = Field(
        default=(), description="columns to include or exclude; all rules for a table apply"
    )
    mask: tuple[MaskRule, ...] = Field(default=(), description="column values to hide; the first matching rule applies")
    rename: tuple[RenameRule, ...] = Field(
        default=(), description="new names of columns and tables; the first matching rule applies"
    )
    add: tuple[AddRule, ...] = Field(
        default=(), description="columns with a constant, such as the name of a shard; all rules for a table apply"
    )
    filter: tuple[FilterRule, ...] = Field(default=(), description="rows to replicate; all rules for a table apply")
    route: tuple[RouteRule, ...] = Field(
        default=(), description="topics instead of `sink.topic`; the first matching rule applies"
    )
    operations: tuple[OperationRule, ...] = Field(default=(), description="operations to omit; all rules apply")
    partition_by: tuple[PartitionRule, ...] = Field(
        default=(),
        description="what selects the partition; the first matching rule applies; default: as the format does",
    )
