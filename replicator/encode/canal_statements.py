"""Canal's records of DDL, of the statements that changed rows, and of XA transactions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.config.canal import CanalOptions
from replicator.config.task import Records
from replicator.encode.canal_json import quote
from replicator.encode.silent import Silent
from replicator.encode.topics import Topics
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.table import Table
from replicator.pipeline.ports import Interest

_KINDS: Final = {
    "CREATE TABLE": "CREATE",
    "ALTER TABLE": "ALTER",
    "DROP TABLE": "ERASE",
    "RENAME TABLE": "RENAME",
    "TRUNCATE": "TRUNCATE",
    "TRUNCATE TABLE": "TRUNCATE",
    "CREATE INDEX": "CINDEX",
    "DROP INDEX": "DINDEX",
    "CREATE DATABASE": "QUERY",
    "CREATE SCHEMA": "QUERY",
    "DROP DATABASE": "QUERY",
    "DROP SCHEMA": "QUERY",
    "XA COMMIT": "XACOMMIT",
    "XA ROLLBACK": "XAROLLBACK",
}
"""`Statement.kind` -> `type`. All others (views, routines, triggers, users, ALTER DATABASE) give no record."""

_PART: Final = r"(?:`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\w$]+)"
_NAME: Final = rf"(?P<first>{_PART})(?:\s*\.\s*(?P<second>{_PART}))?"
_LEADING: Final = re.compile(r"(?:\s|/\*(?!M?!).*?\*/|/\*M?!\d*|#[^\n]*|--(?:\s[^\n]*|$))+", re.DOTALL)
_NAMED: Final = re.compile(
    r"\s*(?:(?:CREATE|ALTER|DROP|TRUNCATE)(?:\s+(?:OR\s+REPLACE|TEMPORARY|ONLINE|OFFLINE|IGNORE))*\s+"
    r"(?:TABLE|DATABASE|SCHEMA)\s+|TRUNCATE\s+|RENAME\s+TABLES?\s+.*?\sTO\s+|(?:CREATE|DROP)\s.*?\bINDEX\s.*?\sON\s+)"
    rf"(?:IF\s+(?:NOT\s+)?EXISTS\s+)?{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_RENAMED: Final = re.compile(
    rf"\s*ALTER\s+TABLE\s+{_PART}(?:\s*\.\s*{_PART})?\s+RENAME\s+(?!COLUMN\b|INDEX\b|KEY\b)(?:TO\s+|AS\s+|=\s*)?{_NAME}",
    re.IGNORECASE,
)
_CHANGED: Final = re.compile(
    r"\s*(?:(?:INSERT|REPLACE|UPDATE|DELETE)(?:\s+(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|QUICK|IGNORE))*\s+"
    rf"(?:(?:INTO|FROM)\s+)?){_NAME}",
    re.IGNORECASE,
)


class Report(msgspec.Struct, frozen=True):
    """What a record says of a statement.

    Attributes:
        type: Canal's event type.
        ddl: `isDdl`.
        session: default database of the session, of DDL.
    """

    type: str
    database: str
    table: str
    sql: str
    ddl: bool
    session: str = ""


class Statements(Silent):
    """The part of Canal's formats that hears of statements. How a `Report` is written is the subclass's."""

    interests: frozenset[Interest] = frozenset({"statement", "query", "xa"})

    def __init__(self, name: str, sink: Records, server: str) -> None:
        self._options: CanalOptions = sink.canal
        self._name = name
        self._template = sink.topic_template
        self._mariadb = server == "mariadb"
        heard = set(self.interests)
        if self._options.filter_query_dml:
            heard.discard("query")
        if self._options.filter_query_ddl and self._options.filter_query_dcl:
            heard.discard("statement")
        if self._options.gtidon:
            heard.add("executed")
        self.interests = frozenset(heard)

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        report = _report(statement)
        if report is None or self._filtered(report):
            return ()
        return (self._message(report, moment),)

    def query(self, text: str, moment: Moment) -> Sequence[Message]:
        table = "" if self._mariadb else _changed_table(text)
        return (self._message(Report("QUERY", "", table, text, ddl=False), moment),)

    def _filtered(self, report: Report) -> bool:
        if report.type == "QUERY":
            return self._options.filter_query_dcl or self._options.filter_query_ddl
        return report.ddl and self._options.filter_query_ddl

    def _message(self, report: Report, moment: Moment) -> Message:
        return Message(self.topic(report.database, report.table), None, self.write(report, moment))

    @property
    def by_table(self) -> bool:
        """Tables or databases have topics of their own."""
        return "{table}" in self._template or "{database}" in self._template

    def topic(self, database: str, table: str) -> str:
        """That of the table; of the task where there is none and topics are by table."""
        if not table and self.by_table:
            return self._name
        return Topics(self._template, self._name).topic(Table(database, table, ()))

    def write(self, report: Report, moment: Moment) -> bytes:
        """The record's value."""
        gtid = moment.executed if self._options.gtidon else ""
        return (
            f'{{"data":null,"database":{quote(report.database)},"es":{moment.event_s * 1000},"gtid":{quote(gtid)},'
            f'"id":{moment.offset},"isDdl":{"true" if report.ddl else "false"},"mysqlType":null,"old":null,'
            f'"pkNames":null,"sql":{quote(report.sql)},"sqlType":null,"table":{quote(report.table)},'
            f'"ts":{moment.now_ns // 1_000_000},"type":"{report.type}"}}'
        ).encode()


def _report(statement: Statement) -> Report | None:
    kind = _KINDS.get(statement.kind)
    if kind is None:
        return None
    if kind.startswith("XA"):
        return Report(kind, "", "", statement.text, ddl=False)
    if kind == "QUERY":
        return Report(kind, _database(statement), "", statement.text, ddl=True, session=statement.database)
    database, table, renamed = _subject(statement)
    if renamed:
        kind = "RENAME"
    return Report(kind, database, table, statement.text, ddl=True, session=statement.database)


def _database(statement: Statement) -> str:
    """That of CREATE DATABASE, DROP DATABASE; the changes, if any, are to its tables."""
    named = _NAMED.match(_begun(statement.text))
    return _unquoted(named["first"]) if named else statement.database


def _subject(statement: Statement) -> tuple[str, str, bool]:
    """(database, table, renamed): of the first table; under its new name when it gets one."""
    if statement.changes:
        change = statement.changes[0]
        return (*(change.new_name or (change.database, change.name)), change.new_name is not None)
    text = _begun(statement.text)
    if renamed := _RENAMED.match(text):
        return (*_names(renamed, statement.database), True)
    named = _NAMED.match(text)
    return (*(_names(named, statement.database) if named else (statement.database, "")), False)


def _changed_table(text: str) -> str:
    """The table that DML names first; "" for other statements."""
    named = _CHANGED.match(_begun(text))
    return _names(named, "")[1] if named else ""


def _begun(text: str) -> str:
    """Without the comments in front."""
    leading = _LEADING.match(text)
    return text[leading.end() :] if leading else text


def _names(match: re.Match[str], database: str) -> tuple[str, str]:
    first, second = _unquoted(match["first"]), match["second"]
    return (first, _unquoted(second)) if second else (database, first)


def _unquoted(name: str) -> str:
    quote_mark = name[0]
    return name[1:-1].replace(quote_mark * 2, quote_mark) if quote_mark in '`"' else name
