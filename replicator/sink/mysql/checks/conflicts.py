"""Whether the rules of `sink.conflict` can be applied to the tables of the target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from replicator.config.conflicts import ConflictRule, rule_of, rules_of
from replicator.config.mysql_sink import MySQLSink
from replicator.model.finding import Finding, listed
from replicator.mysql.identifiers import quote_account, quote_identifier
from replicator.mysql.server import Server
from replicator.mysql.server_errors import GRANT
from replicator.mysql.session import Session
from replicator.mysql.table_facts import TableFacts
from replicator.sink.mysql.checks.expected import ExpectedTable
from replicator.sink.mysql.conflicts.conflict_table import DEFINITION, TABLE

_ID: Final = "sink.conflicts"
_INEXACT: Final = frozenset({"float", "double", "real"})
_ORDERED: Final = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "date", "datetime", "timestamp", "time", "year"}
)
_IN_FRONT: Final = "or put a rule `{tables: [...], policy: stop}` in front"


def check(config: MySQLSink, tables: Iterable[tuple[ExpectedTable, TableFacts]]) -> list[Finding]:
    rules = rules_of(config.conflict)
    chosen = [(expected, facts, rule_of(rules, expected.source)) for expected, facts in tables]
    ruled = [(expected, facts, rule) for expected, facts, rule in chosen if rule is not None and rule.looks]
    if not ruled:
        return []
    unfit = [facts.qualified for expected, facts, _ in ruled if not _has_key(expected, facts)]
    findings = []
    if unfit:
        wanted = "a primary key of whole columns that are replicated, none of FLOAT or DOUBLE"
        findings.append(Finding(_ID, "fail", f"no such key: {listed(unfit)}", wanted, f"Add one, {_IN_FRONT}."))
    merged = [expected.source for expected, _, rule in ruled if _replaces_merged(expected, rule)]
    if merged:
        wanted = "stop, keep_target or dead_letter: a row that is there may be one of another table"
        told = f"{listed(merged)}: source_wins or newest_wins, and keys: disjoint in transforms.rename"
        findings.append(Finding(_ID, "fail", told, wanted, f"Correct `sink.conflict`, {_IN_FRONT}."))
    unordered = [found for expected, facts, rule in ruled if (found := _column_fault(expected, facts, rule))]
    if unordered:
        wanted = "a NOT NULL column of integers or times that is replicated, for newest_wins"
        findings.append(Finding(_ID, "fail", listed(unordered), wanted, f"Correct `sink.conflict`, {_IN_FRONT}."))
    return findings or [Finding.ok(_ID, f"conflicts can be resolved in {len(ruled)} tables")]


def _replaces_merged(expected: ExpectedTable, rule: ConflictRule) -> bool:
    shard = expected.images.shard
    return shard is not None and shard.disjoint and rule.policy in ("source_wins", "newest_wins")


def _has_key(expected: ExpectedTable, facts: TableFacts) -> bool:
    written = {column.name.lower() for column in expected.columns}
    columns = [facts.column(name) for name in facts.primary_key]
    return bool(columns) and all(
        column is not None and column.name.lower() in written and column.kind not in _INEXACT for column in columns
    )


def _column_fault(expected: ExpectedTable, facts: TableFacts, rule: ConflictRule) -> str:
    """ "" without one."""
    if rule.column is None:
        return ""
    place = f"{facts.qualified}.{rule.column}"
    column = facts.column(rule.column)
    if column is None or rule.column.lower() not in {each.name.lower() for each in expected.columns}:
        return f"{place}: no such column"
    if column.kind not in _ORDERED:
        return f"{place} is {column.type}"
    return f"{place} may be NULL" if column.nullable else ""


def of_table(session: Session, server: Server, config: MySQLSink) -> list[Finding]:
    """The table of conflicts: present, or created with that of the position."""
    if not any(rule.looks for rule in rules_of(config.conflict)):
        return []
    account, database = quote_account(server.account), quote_identifier(config.position_database)
    table = f"{database}.{TABLE}"
    grant = f"GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON {database}.* TO {account};"
    present = session.refusal(f"SELECT found_row FROM {table} WHERE FALSE")  # noqa: S608 (quoted)
    if present and not config.create_position_table:
        fix = f"Create it, or set `sink.create_position_table: true`. {grant} {DEFINITION.format(table=table)}"
        return [Finding(_ID, "fail", f"{table} is missing or not visible", "a table that the account can write", fix)]
    if present in GRANT:
        return []  # the check of the position table says that nothing can be created
    refused = _refused(session, table) if not present else []
    if refused:
        return [Finding(_ID, "fail", f"{account} lacks {', '.join(refused)} on {table}", "INSERT, DELETE", grant)]
    return [Finding.ok(_ID, f"{table} {'can be created' if present else 'exists and can be written'}")]


def _refused(session: Session, table: str) -> Sequence[str]:
    statements = {
        "INSERT": f"EXPLAIN INSERT INTO {table} (id) VALUES (NULL)",  # noqa: S608 (quoted)
        "DELETE": f"EXPLAIN DELETE FROM {table} WHERE FALSE",  # noqa: S608
    }
    return [verb for verb, sql in statements.items() if session.refusal(sql) in GRANT]
