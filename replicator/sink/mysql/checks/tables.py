"""Compares the tables of the target with those of the source, column by column and key by key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from replicator.config.mysql_sink import MySQLSink
from replicator.model.finding import Finding, Severity, listed
from replicator.mysql import table_facts
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.mysql.table_facts import ColumnFacts, Name, TableFacts
from replicator.sink.mysql import target_definition
from replicator.sink.mysql.apply_mode import Mode
from replicator.sink.mysql.checks import conflicts
from replicator.sink.mysql.checks.expected import ExpectedColumn, ExpectedTable, SourceFacts
from replicator.sink.mysql.shards import lacking
from replicator.sink.mysql.sql import sql_table
from replicator.sink.mysql.sql.grants import TriggerGrants
from replicator.sink.mysql.target_columns import Problem, problems
from replicator.sink.mysql.target_definition import Definition

_TRANSACTIONAL: Final = frozenset({"innodb", "rocksdb", "ndbcluster", "tokudb"})
_SHOWN: Final = 20
"""Findings of one kind that are shown one by one."""


def check(
    session: Session, server: Server, config: MySQLSink, source: SourceFacts, mode: Mode
) -> tuple[list[Finding], list[TableFacts]]:
    """Findings, and the tables that the target has. `mode`: how rows are applied."""
    expected = source.tables or ()
    known = table_facts.read(session, dict.fromkeys(table.target for table in expected))
    fold = str(session.value("SELECT @@lower_case_table_names")) != "0"
    found = {_folded(name, fold): facts for name, facts in known.items()}
    pairs = [(table, found.get(_folded(table.target, fold))) for table in expected]
    missing = [table for table, facts in pairs if facts is None]
    there = [(table, facts) for table, facts in pairs if facts is not None]
    findings = [_missing(missing, len(expected), created=config.create_tables)]
    compared = (finding for table, facts in there for finding in _Comparison(table, facts, session, server).run())
    differences = list(dict.fromkeys(compared))  # tables that are merged into one have them in common
    findings += differences[:_SHOWN]
    if len(differences) > _SHOWN:
        rest = differences[_SHOWN:]
        severity: Severity = "fail" if any(finding.severity == "fail" for finding in rest) else "warn"
        names = sorted({finding.found.partition(":")[0] for finding in rest})
        findings.append(
            Finding("sink.columns", severity, f"{len(rest)} more: {listed(names)}", "", "Correct the first ones.")
        )
    if there and not differences:
        findings.append(Finding.ok("sink.columns", f"{len(there)} tables can take every row"))
    findings += conflicts.check(config, there)
    triggers = _triggers(there) if mode == "binlog" else _by_sql(session, server, there)
    return [*findings, *triggers, *_foreign_keys(expected, found, fold, source)], list(known.values())


def _folded(name: Name, fold: bool) -> Name:
    return (name[0].lower(), name[1].lower()) if fold else name


def _missing(missing: Sequence[ExpectedTable], count: int, *, created: bool) -> Finding:
    if not missing:
        return Finding.ok("sink.tables", f"{count} tables exist")
    if created:
        names = listed([table.qualified for table in missing])
        return Finding.ok("sink.tables", f"{names}: missing, created when a new task begins or rows of them arrive")
    fix = "Create them (mysqldump --no-data at the source), exclude them with `source.tables`, or correct "
    shown = f"missing: {listed([table.qualified for table in missing])}"
    return Finding("sink.tables", "fail", shown, "a table for each one of the source", fix + "`transforms.rename`.")


class _Comparison:
    """Of one table."""

    def __init__(self, expected: ExpectedTable, found: TableFacts, session: Session, server: Server) -> None:
        self._expected = expected
        self._found = found
        self._session = session
        self._server = server
        self._findings: list[Finding] = []

    def run(self) -> list[Finding]:
        if self._engine():
            self._columns()
        self._keys(self._coarser())
        return self._findings

    @property
    def _definition(self) -> Definition:
        table = self._found
        return target_definition.read(self._session, self._server, table.database, table.name, self._expected.source)

    def _add(self, id_: str, severity: Severity, found: str, wanted: str, fix: str) -> None:
        told = f"{self._found.qualified}: {found}"
        self._findings.append(Finding(f"sink.{id_}", severity, told, wanted, fix))

    @property
    def _alter(self) -> str:
        names = quote_identifier(self._found.database), quote_identifier(self._found.name)
        return f"ALTER TABLE {'.'.join(names)}"

    def _engine(self) -> bool:
        """Whether rows can be written at all."""
        engine = self._found.engine
        if engine.lower() not in _TRANSACTIONAL:
            wanted = "a transactional engine: rows and position are in one transaction"
            self._add("tables", "fail", f"engine {engine}", wanted, f"{self._alter} ENGINE=InnoDB;")
        return engine.lower() in _TRANSACTIONAL

    def _columns(self) -> None:
        table = self._expected
        for problem in problems(table.images, self._definition, mariadb=self._server.mariadb):
            column = next((one for one in table.columns if one.name.lower() == problem.column.lower()), None)
            self._problem(problem, column, self._found.column(problem.column))

    def _problem(self, problem: Problem, column: ExpectedColumn | None, there: ColumnFacts | None) -> None:
        name, found = quote_identifier(problem.column), f"{problem.column}: {problem.why}"
        exclude = f"or exclude {problem.column} with `transforms.columns`."
        if column is None:  # one that the rows lack
            wanted, fix = "a default, as rows arrive without the column", f"ALTER COLUMN {name} SET DEFAULT ...;"
            found = f"the source has no column {problem.column}, {problem.why}"
        elif there is None:
            wanted, fix = f"{column.name} {column.facts.type}", f"ADD COLUMN {name} {column.facts.type}; {exclude}"
            found = f"no column {column.name}"
        elif problem.kind == "null":
            wanted, fix = "NULL is allowed, as at the source", f"MODIFY {name} {there.type} NULL;"
            found = f"{column.name} is NOT NULL"
        elif problem.kind == "generated":
            wanted, fix = "the same columns generated on both sides", f"with such a column, {exclude}"
            found = f"{column.name} is {problem.why}"
        elif column.masked:
            wanted, fix = "a column that takes the masked value", f"MODIFY {name} ...; {exclude}"
        else:
            charset = f" CHARACTER SET {column.facts.charset}" if column.facts.charset else ""
            wanted = f"{column.facts.type}{charset}, or a wider type"
            found = f"{column.name} is {there.type}, {problem.why}"
            fix = f"MODIFY {name} {column.facts.type}{charset}{_null(column.facts)};"
        self._add("columns", "fail", found, wanted, f"{self._alter} {fix}")

    def _coarser(self) -> set[str]:
        """Columns, in lower case, whose values compare in another way than at the source."""
        found = set()
        for column in self._expected.columns:
            there = self._found.column(column.name)
            if there is not None and not column.masked and column.facts.collation != there.collation:
                found.add(column.name.lower())
        return found

    def _keys(self, coarser: set[str]) -> None:
        expected, found = self._expected, self._found
        if expected.primary_key and not found.primary_key:
            key = ", ".join(map(quote_identifier, expected.primary_key))
            wanted = "the source's primary key: without a key each change of a row scans the table"
            self._add("keys", "fail", "no primary key", wanted, f"{self._alter} ADD PRIMARY KEY ({key});")
        self._keys_of_merged()
        own = [set(_plain(known)) for known in (expected.primary_key, *expected.uniques) if known]
        keys = {"PRIMARY": found.primary_key, **found.uniques} if found.primary_key else found.uniques
        for name, parts in keys.items():
            if not any(known <= set(_plain(parts)) for known in own):
                self._foreign_unique(name, parts)
            elif shared := sorted(coarser & set(_plain(parts))):
                wanted = "the source's collation: values that it holds for different may be equal here"
                fix = f"{self._alter} with the collations of the source."
                shown = f"key {name}: {', '.join(shared)} has another collation"
                self._add("keys", "warn", shown, wanted, fix)

    def _keys_of_merged(self) -> None:
        """Keys that do not distinguish the rows of tables that are merged into this one."""
        found, shard = self._found, self._expected.images.shard
        if shard is None or shard.disjoint:
            return
        keys = {"PRIMARY": found.primary_key, **found.uniques} if found.primary_key else found.uniques
        for name in lacking(shard.columns, keys):
            parts = [*keys[name], *(column for column in shard.columns if column.lower() not in keys[name])]
            columns = ", ".join(part if "(" in part else quote_identifier(part) for part in parts)
            quoted = quote_identifier(name)
            drop = (
                "DROP PRIMARY KEY, ADD PRIMARY KEY"
                if name == "PRIMARY"
                else f"DROP INDEX {quoted}, ADD UNIQUE {quoted}"
            )
            told = f"key {name} ({', '.join(keys[name])}) lacks {', '.join(shard.columns)}"
            wanted = "keys that distinguish the rows of merged tables: rows of two of them may have the same value"
            self._add("keys", "fail", told, wanted, f"{self._alter} {drop} ({columns});")

    def _foreign_unique(self, name: str, key: tuple[str, ...]) -> None:
        shown = f"unique key {name} ({', '.join(key)}) is not unique at the source"
        drop = "DROP PRIMARY KEY" if name == "PRIMARY" else f"DROP INDEX {quote_identifier(name)}"
        wanted = "unique keys of the source only: rows that it accepts would be refused"
        self._add("keys", "warn" if _expression(key) else "fail", shown, wanted, f"{self._alter} {drop};")


def _null(facts: ColumnFacts) -> str:
    return "" if facts.nullable else " NOT NULL"


def _plain(key: Iterable[str]) -> list[str]:
    return [part.lower() for part in key]


def _expression(key: Iterable[str]) -> bool:
    return any("(" in part for part in key)


def _triggers(there: Sequence[tuple[ExpectedTable, TableFacts]]) -> list[Finding]:
    found = [f"{facts.database}.{name} on {facts.name}" for _, facts in there for name in facts.triggers]
    if not found:
        return [Finding.ok("sink.triggers", "no triggers on the target's tables")]
    wanted = "no trigger that the target relies on: triggers are not executed for replicated rows"
    fix = "None required if the rows that they would write are replicated, too. Otherwise write them in another way."
    return [Finding("sink.triggers", "warn", listed(found), wanted, fix)]


def _by_sql(session: Session, server: Server, there: Sequence[tuple[ExpectedTable, TableFacts]]) -> list[Finding]:
    """Tables whose rows SQL can't write."""
    grants, found = TriggerGrants(session), list[Finding]()
    for expected, facts in there:
        if facts.engine.lower() in _TRANSACTIONAL:
            known = target_definition.read(session, server, facts.database, facts.name, expected.source)
            refused = sql_table.refusal(server, grants, expected.images, facts, known)
            if refused is not None:
                shown = f"{facts.qualified}: {refused.found}"
                found.append(Finding("sink.apply", "fail", shown, refused.wanted, refused.fix))
    if len(found) > _SHOWN:
        names = listed([finding.found.partition(":")[0] for finding in found[_SHOWN:]])
        more = Finding("sink.apply", "fail", f"{len(found) - _SHOWN} more: {names}", "", "Correct the first ones.")
        return [*found[:_SHOWN], more]
    return found or [Finding.ok("sink.apply", f"SQL can write the rows of {len(there)} tables")]


def _foreign_keys(
    expected: Sequence[ExpectedTable], found: dict[Name, TableFacts], fold: bool, source: SourceFacts
) -> list[Finding]:
    """Rows that a foreign key changes are either in the source's binlog, and then applied without foreign keys, or the
    target has to change them itself."""
    if source.logs_cascades:
        return [Finding.ok("sink.foreign_keys", "the source logs cascaded changes")]
    lost = []
    for table in expected:
        facts = found.get(_folded(table.target, fold))
        if facts is None:
            continue
        parents = {_folded(key.parent, fold) for key in facts.foreign_keys if key.cascades}
        wanted = {_folded(parent, fold) for parent in table.cascades}
        if wanted - parents:
            lost.append(facts.qualified)
    if lost:
        wanted_ = "the source's foreign keys: cascaded changes are not in its binlog, the target has to make them"
        fix = "ALTER TABLE ... ADD FOREIGN KEY with the ON DELETE and ON UPDATE actions of the source."
        return [Finding("sink.foreign_keys", "fail", listed(lost), wanted_, fix)]
    return [Finding.ok("sink.foreign_keys", "cascaded changes are made once")]
