"""Tests the privileges of the account by statements that have no effect, so that roles and wildcards count.

EXPLAIN of a statement that changes rows asks for the same privileges and changes nothing. A statement that changes the
definition of a table that does not exist fails after its privileges were tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from replicator.config.mysql_sink import MySQLSink
from replicator.model.finding import Finding, listed
from replicator.mysql.identifiers import quote_account, quote_identifier
from replicator.mysql.server import Server
from replicator.mysql.server_errors import GRANT
from replicator.mysql.session import Session
from replicator.mysql.table_facts import Name, TableFacts
from replicator.sink.mysql import apply_mode
from replicator.sink.mysql.apply_mode import Mode
from replicator.sink.mysql.branches import support
from replicator.sink.mysql.sql import load_mode

_POSITIONS: Final = "replicator_position"
_MISSING: Final = quote_identifier("replicator_check_no_such_table")
_OTHER: Final = quote_identifier("replicator_check_no_such_table_either")
_MOST: Final = 500
"""Tables that are asked about one by one; the rest is not."""


def of_server(session: Session, server: Server, config: MySQLSink) -> tuple[list[Finding], Mode]:
    """What BINLOG asks for, and SET gtid_next, which has to follow it on MySQL. Also returns how rows are applied."""
    account, id_ = quote_account(server.account), "sink.grant.binlog"
    if config.apply == "sql":
        return [Finding.ok(id_, "rows are applied by SQL, as `sink.apply` says")], "sql"
    refused, privilege = apply_mode.refused(session, server), apply_mode.privilege(server)
    if not refused:
        said = f"{account} may execute {apply_mode.statements(server)}: rows are applied as row images"
        return [Finding.ok(id_, said)], "binlog"
    found, grant = f"{account} may not execute {' or '.join(refused)}", f"GRANT {privilege} ON *.* TO {account};"
    if config.apply == "binlog":
        return [Finding(id_, "fail", found, privilege, grant)], "binlog"
    wanted = f"{privilege}: row images are applied faster, also to tables with triggers or without a key"
    return [Finding(id_, "warn", f"{found}: rows are applied by SQL", wanted, grant)], "sql"


def of_loads(server: Server, config: MySQLSink, mode: Mode) -> list[Finding]:
    """Whether LOAD DATA is used, where rows are applied by SQL."""
    if mode != "sql":
        return []
    id_, found = "sink.load_data", load_mode.obstacle(config, server)
    if found is None:
        return [Finding.ok(id_, load_mode.description(None))]
    if not found.fix:
        return [Finding.ok(id_, load_mode.description(found))]
    return [Finding(id_, "warn", load_mode.description(found), f"{found.wanted}: LOAD DATA LOCAL is faster", found.fix)]


def of_branches(session: Session, server: Server, config: MySQLSink) -> list[Finding]:
    """What `order: key` needs."""
    if config.order == "transaction":
        return []
    id_, lacking = "sink.order", support.lacking(server)
    if lacking is not None:
        return [Finding(id_, "fail", *lacking, support.REMEDY)]
    account = quote_account(server.account)
    if not server.mariadb and session.refusal("XA RECOVER") != 0:
        found = f"{account} may not execute XA RECOVER"
        return [Finding(id_, "fail", found, support.RECOVER, support.recover_grant(server))]
    return [Finding.ok(id_, f"{account} can write over {config.connections} connections")]


def of_positions(session: Session, server: Server, config: MySQLSink) -> list[Finding]:
    """The database with the position table: present, or may be created."""
    account, database = quote_account(server.account), quote_identifier(config.position_database)
    table = f"{database}.{quote_identifier(_POSITIONS)}"
    present = session.refusal(f"SELECT 1 FROM {table} WHERE FALSE")  # noqa: S608 (quoted)
    grant = f"GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON {database}.* TO {account};"
    id_ = "sink.grant.position_table"
    if present == 0:
        lacking = _lacking(session, table, ("INSERT", "UPDATE", "DELETE"))
        if lacking:
            found = f"{account} lacks {', '.join(lacking)} on {table}"
            return [Finding(id_, "fail", found, "SELECT, INSERT, UPDATE, DELETE", grant)]
        return [Finding.ok(id_, f"{table} exists and can be written")]
    if not config.create_position_table:
        fix = (
            f"Create {table} as shown by `replicator docs targets`, or set `sink.create_position_table: true`. {grant}"
        )
        return [Finding(id_, "fail", f"{table} is missing or not visible", "a table that the account can write", fix)]
    if not _may_create(session, database):
        return [Finding(id_, "fail", f"{account} may not create {table}", "CREATE and the privileges on rows", grant)]
    return [Finding.ok(id_, f"{table} can be created")]


def _may_create(session: Session, database: str) -> bool:
    return session.refusal(_create(database)) not in GRANT


def _create(database: str) -> str:
    """A statement that needs CREATE, and fails with it."""
    return f"CREATE TABLE {database}.{_MISSING} LIKE {database}.{_OTHER}"


def _lacking(session: Session, table: str, verbs: Iterable[str], column: str = "epoch") -> list[str]:
    name = quote_identifier(column)
    statements = {
        "SELECT": f"EXPLAIN SELECT {name} FROM {table}",  # noqa: S608 (quoted)
        "INSERT": f"EXPLAIN INSERT INTO {table} ({name}) VALUES (NULL)",  # noqa: S608
        "UPDATE": f"EXPLAIN UPDATE {table} SET {name} = NULL WHERE FALSE",  # noqa: S608
        "DELETE": f"EXPLAIN DELETE FROM {table} WHERE FALSE",  # noqa: S608
    }
    return [verb for verb in verbs if session.refusal(statements[verb]) in GRANT]


def of_tables(session: Session, server: Server, tables: Sequence[TableFacts]) -> list[Finding]:
    """SELECT is for reading definitions and comparing rows."""
    account, lacking = quote_account(server.account), {}
    for table in tables[:_MOST]:
        column = next((column.name for column in table.columns if not column.generated), "")
        verbs = _lacking(session, _written((table.database, table.name)), _VERBS, column) if column else []
        if verbs:
            lacking[table.qualified] = verbs
    if not lacking:
        return [Finding.ok("sink.grant.tables", f"{', '.join(_VERBS)} on {len(tables)} tables")] if tables else []
    verbs = [verb for verb in _VERBS if any(verb in found for found in lacking.values())]
    databases = sorted({table.database for table in tables if table.qualified in lacking})
    fix = " ".join(f"GRANT {', '.join(_VERBS)} ON {quote_identifier(name)}.* TO {account};" for name in databases)
    found = f"{account} lacks {', '.join(verbs)} on {listed(list(lacking))}"
    return [Finding("sink.grant.tables", "fail", found, ", ".join(_VERBS), fix)]


_VERBS: Final = ("SELECT", "INSERT", "UPDATE", "DELETE")


def of_ddl(session: Session, server: Server, databases: Sequence[str]) -> list[Finding]:
    """For `sink.ddl: apply`."""
    account, missing = quote_account(server.account), {}
    for database in databases:
        table = f"{quote_identifier(database)}.{_MISSING}"
        statements = {
            "CREATE": _create(quote_identifier(database)),
            "ALTER": f"ALTER TABLE {table} ENGINE = InnoDB",
            "DROP": f"DROP TABLE {table}",
            "INDEX": f"CREATE INDEX i ON {table} (i)",
        }
        refused = [privilege for privilege, sql in statements.items() if session.refusal(sql) in GRANT]
        if refused:
            missing[database] = refused
    if not missing:
        return [Finding.ok("sink.grant.ddl", f"{account} may create, alter and drop tables")] if databases else []
    fix = " ".join(
        f"GRANT CREATE, ALTER, DROP, INDEX, REFERENCES ON {quote_identifier(name)}.* TO {account};" for name in missing
    )
    found = "; ".join(f"{account} lacks {', '.join(refused)} on {name}" for name, refused in missing.items())
    return [Finding("sink.grant.ddl", "fail", found, "the privileges of `sink.ddl: apply`", fix)]


def of_mark(session: Session, server: Server) -> Finding:
    """Whether statements can have the task's mark in the binlog; the session has another CONNECTION_ID() afterwards."""
    account, id_ = quote_account(server.account), "sink.grant.mark"
    if session.refusal("SET SESSION pseudo_thread_id = 1") not in GRANT:
        return Finding.ok(id_, f"{account} may mark statements in the binlog (pseudo_thread_id)")
    privilege = "BINLOG REPLAY" if server.mariadb else "SESSION_VARIABLES_ADMIN"
    found = f"{account} may not set pseudo_thread_id"
    wanted = f"{privilege}: a task in the other direction leaves out statements that have this task's mark"
    return Finding(id_, "warn", found, wanted, f"GRANT {privilege} ON *.* TO {account};")


def _written(name: Name) -> str:
    return f"{quote_identifier(name[0])}.{quote_identifier(name[1])}"
