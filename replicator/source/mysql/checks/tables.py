"""Checks the task's tables as they are now."""

from __future__ import annotations

import re
from collections.abc import Iterable

from replicator.config.tables import TableFilter
from replicator.config.task import MySQLSource
from replicator.model.finding import Finding, listed
from replicator.mysql.identifiers import quote_account, quote_identifier
from replicator.mysql.server import Server
from replicator.mysql.session import Session

_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")
_CASCADE = re.compile(r"FOREIGN KEY .* ON (DELETE|UPDATE) (CASCADE|SET NULL|SET DEFAULT)")

Names = list[tuple[str, str]]


def check(session: Session, server: Server, config: MySQLSource) -> tuple[list[Finding], Names]:
    """Findings, and (database, table) of what the patterns choose. Tables without SELECT are not visible."""
    choice, chosen = TableFilter(config.tables), carried(session, config)
    findings = [_exist(server, choice, chosen)]
    if chosen:
        findings += [_primary_keys(session, chosen), _cascades(session, server, chosen)]
    return findings, chosen


def carried(session: Session, config: MySQLSource) -> Names:
    """The tables that the task's patterns choose now; of the server's own only those that are named."""
    choice = TableFilter(config.tables)
    named = set(choice.literal())
    return [
        name for name in _all_tables(session) if choice.matches(*name) and (name[0] not in _SYSTEM or name in named)
    ]


def _all_tables(session: Session) -> Names:
    rows = session.rows(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' ORDER BY 1, 2"
    )
    return [(str(database), str(table)) for database, table in rows]


def _exist(server: Server, choice: TableFilter, chosen: Names) -> Finding:
    grant = f"GRANT SELECT ON *.* TO {quote_account(server.account)}; if the account lacks access."
    missing = [name for name in choice.literal() if choice.matches(*name) and name not in chosen]
    if missing:
        found = f"missing: {_listed(missing)}"
        return Finding(
            "source.tables", "fail", found, "every table that is given by name", f"Correct `source.tables`, or {grant}"
        )
    if not chosen:
        found = f"no table matches {', '.join(choice.patterns)}"
        return Finding(
            "source.tables", "warn", found, "at least one", f"Correct `source.tables`, create one, or {grant}"
        )
    return Finding.ok("source.tables", f"{len(chosen)}: {_listed(chosen)}")


def _primary_keys(session: Session, chosen: Names) -> Finding:
    # not table_constraints: MariaDB shows that to accounts with more than SELECT only
    rows = session.rows(
        "SELECT table_schema, table_name FROM information_schema.statistics WHERE index_name = 'PRIMARY'"
    )
    bare = sorted(set(chosen) - {(str(database), str(table)) for database, table in rows})
    if not bare:
        return Finding.ok("source.primary_keys", "every table has a primary key")
    database, table = bare[0]
    name = f"{quote_identifier(database)}.{quote_identifier(table)}"
    fix = f"ALTER TABLE {name} ADD PRIMARY KEY (...);"
    return Finding(
        "source.primary_keys", "warn", f"none in {_listed(bare)}", "a primary key: order is guaranteed per key", fix
    )


def _cascades(session: Session, server: Server, chosen: Names) -> Finding:
    if server.get("innodb_native_foreign_keys") == "OFF":
        return Finding.ok("source.foreign_keys", "the server logs cascaded changes")  # MySQL 9.6 and later
    rows = session.rows(
        "SELECT DISTINCT table_schema, table_name FROM information_schema.key_column_usage "
        "WHERE referenced_table_name IS NOT NULL ORDER BY 1, 2"
    )
    children = [(str(database), str(table)) for database, table in rows if (database, table) in chosen]
    bad = [name for name in children if _CASCADE.search(_definition(session, *name))]
    if not bad:
        return Finding.ok("source.foreign_keys", "no cascading foreign keys")
    wanted = "RESTRICT or NO ACTION: cascaded changes are made by the storage engine and may not be in the binlog"
    return Finding(
        "source.foreign_keys", "warn", _listed(bad), wanted, "Change the child rows with separate statements."
    )


def _definition(session: Session, database: str, table: str) -> str:
    """What information_schema hides from accounts with SELECT only."""
    name = f"{quote_identifier(database)}.{quote_identifier(table)}"
    return str(session.rows(f"SHOW CREATE TABLE {name}")[0][1])


def _listed(names: Iterable[tuple[str, str]]) -> str:
    return listed([".".join(name) for name in names])
