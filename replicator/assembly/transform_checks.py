"""Findings about the transforms of a task and the tables that they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from replicator.assembly.pipeline import build_rendering
from replicator.assembly.planners import Planners
from replicator.config.rewrite import pattern
from replicator.config.tables import TableFilter
from replicator.config.task import KafkaSink, TaskConfig
from replicator.config.transforms import PartitionRule, Transforms
from replicator.encode.topics import Topics
from replicator.errors import ReplicatorError
from replicator.model.finding import Finding
from replicator.model.table import Table
from replicator.transform.chain import Chain
from replicator.transform.names import Scope, find, nearest
from replicator.transform.partitions import Partitions, partition_columns

_SHOWN = 5


def check(config: TaskConfig, tables: Sequence[Table]) -> list[Finding]:
    """`tables`: as the source has them now. No finding at all for a task without transforms."""
    if config.transforms == Transforms():
        return []
    findings = [*_secrets(config), *_plans(config, tables), *_names(config.transforms, tables)]
    if isinstance(config.sink, KafkaSink):
        findings += _partitions(config, tables)
    return findings


def topics(config: TaskConfig, tables: Iterable[Table]) -> list[str]:
    """Where the tables' records go; a table that the transforms do not fit has none."""
    names, chain = Topics(config.sink.topic_template, config.name), Chain(config.transforms)
    found = set()
    for table in tables:
        try:
            found.add(chain.topic(table, names))
        except ReplicatorError:
            continue  # a finding of `check`
    return sorted(found)


def _secrets(config: TaskConfig) -> list[Finding]:
    if not Chain(config.transforms).keys:
        return []
    try:
        build_rendering(config)
    except ReplicatorError as error:
        return [Finding.of_error("transforms.keys", error)]
    return [Finding.ok("transforms.keys", "the keys of masks can be read on this host")]


def _plans(config: TaskConfig, tables: Sequence[Table]) -> list[Finding]:
    """A plan for each table, as the task will make it with the first row."""
    planner = Planners(config).stream
    failed: list[ReplicatorError] = []
    for table in tables:
        try:
            planner(table)
        except ReplicatorError as error:
            failed.append(error)
    if failed:
        first = Finding.of_error("transforms.fit", failed[0])
        more = f"; and {len(failed) - 1} more tables" if len(failed) > 1 else ""
        return [msgspec.structs.replace(first, found=first.found + more)]
    return [Finding.ok("transforms.fit", f"{len(tables)} table{'' if len(tables) == 1 else 's'}")]


def _names(transforms: Transforms, tables: Sequence[Table]) -> list[Finding]:
    """Rules that are for no table; columns that none of the tables has that a rule's wildcard found (of tables that it
    names, `_plans` speaks)."""
    findings = [*_unmatched(transforms, tables)]
    for where, patterns, columns in _rules(transforms):
        scope = Scope(patterns)
        inside = [table for table in tables if table in scope]
        if not inside:
            findings.append(_no_table(where, patterns, tables))
        missing = [
            column
            for column in columns
            if inside and not any(scope.names(table) or find(table, column) for table in inside)
        ]
        if missing:
            findings.append(_no_column(where, missing[0], inside))
    return findings


def _unmatched(transforms: Transforms, tables: Sequence[Table]) -> Iterable[Finding]:
    """Regular expressions that match no table: they match the whole of a name."""
    for number, rule in enumerate(transforms.add):
        found = rule.match is not None and not any(pattern(rule.match).fullmatch(table.qualified) for table in tables)
        if found:
            yield Finding(
                "transforms.tables",
                "warn",
                f"transforms.add[{number}] matches no table: {rule.match}",
                "a regular expression that matches the whole of database.table",
                f"Correct `transforms.add[{number}].match`, or `source.tables`.",
            )


def _rules(transforms: Transforms) -> Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """(where it stands, tables, columns that tables found by a wildcard need not have)."""
    for number, chosen in enumerate(transforms.columns):
        yield f"transforms.columns[{number}]", chosen.tables, (*(chosen.include or ()), *(chosen.exclude or ()))
    for number, mask in enumerate(transforms.mask):
        yield f"transforms.mask[{number}]", mask.tables, mask.columns
    for number, rename in enumerate(transforms.rename):
        yield f"transforms.rename[{number}]", rename.tables, tuple(rename.columns)
    for number, added in enumerate(transforms.add):
        if added.tables is not None:
            yield f"transforms.add[{number}]", added.tables, ()
    for number, chosen_rows in enumerate(transforms.filter):
        yield f"transforms.filter[{number}]", chosen_rows.tables, ()
    for number, operations in enumerate(transforms.operations):
        yield f"transforms.operations[{number}]", operations.tables, ()
    for number, partition in enumerate(transforms.partition_by):
        yield f"transforms.partition_by[{number}]", partition.tables, ()


def _no_table(where: str, patterns: tuple[str, ...], tables: Sequence[Table]) -> Finding:
    """A table that is named may yet be made; one that is misspelt never will."""
    literal = [f"{database}.{table}" for database, table in TableFilter(patterns).literal()]
    known = [table.qualified for table in tables]
    near = next((found for name in literal if (found := nearest(name, known))), "")
    wanted = f"'{near}'?" if near else "tables that the task replicates"
    return Finding(
        "transforms.tables",
        "fail" if near else "warn",
        f"{where} matches no table: {', '.join(patterns)[:200]}",
        wanted,
        f"Correct `{where}.tables`, or `source.tables`.",
    )


def _no_column(where: str, column: str, tables: Sequence[Table]) -> Finding:
    near = next((found for table in tables if (found := nearest(column, [c.name for c in table.columns]))), "")
    return Finding(
        "transforms.columns",
        "fail",
        f"{where} refers to the column '{column}', which none of its tables has",
        f"'{near}'?" if near else "a column of one of them",
        f"Correct `{where}`" + (f": write {near}." if near else "."),
    )


def _partitions(config: TaskConfig, tables: Sequence[Table]) -> list[Finding]:
    """Choices that give up the order of the changes of a row."""
    chosen = Partitions(config.transforms.partition_by)
    loose: dict[str, str] = {}
    for table in tables:
        rule = chosen.rule(table)
        if rule is not None and rule.by == "transaction":
            loose[table.qualified] = "by transaction"
        elif rule is not None and rule.by == "columns" and not _inside_key(table, rule):
            loose[table.qualified] = f"by {', '.join(rule.columns)}"
    if not loose:
        return []
    shown = ", ".join(f"{table} {how}" for table, how in list(loose.items())[:_SHOWN])
    wanted = "a part of the key: otherwise changes of a row go to several partitions, without a defined order"
    return [Finding("transforms.order", "warn", shown, wanted, "Partition by primary_key, table or key columns.")]


def _inside_key(table: Table, rule: PartitionRule) -> bool:
    try:
        return {column.index for column in partition_columns(table, rule)} <= set(table.primary_key)
    except ReplicatorError:
        return True  # a finding of its own
