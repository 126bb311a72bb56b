"""Rewrites one DDL statement for a target."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.schema.parser import kind as kind_of
from replicator.schema.rewrite.dialect import translated
from replicator.schema.rewrite.edits import Edits
from replicator.schema.rewrite.elements import Elements
from replicator.schema.rewrite.names import Columns, Inherited, NoRewrite, Rewritten, TargetNames, quoted
from replicator.schema.token_cursor import Cursor, Name
from replicator.schema.tokens import NotUnderstood, tokenize

_BY_HAND: Final = "Execute the statement at the target by hand; then `replicator task skip NAME`."
_SELECTS: Final = frozenset({"SELECT", "WITH", "VALUES", "AS", "IGNORE", "REPLACE"})


def rewrite(
    text: str,
    database: str,
    names: TargetNames,
    *,
    mariadb: bool,
    to_mariadb: bool | None = None,
    inherited: Inherited | None = None,
) -> Rewritten:
    """The statement with the target's names, each with its database.

    Args:
        database: the session's default at the source.
        mariadb: flavor of the source.
        to_mariadb: of the target; None: the same.
        inherited: by a table that the statement creates; the target's database may have another default.

    Raises:
        NoRewrite: with the reason and the remedy.
    """
    try:
        made = _Statement(text, database, names, inherited, mariadb=mariadb).rewritten()
        other = to_mariadb is not None and to_mariadb != mariadb
        return msgspec.structs.replace(made, sql=translated(made.sql, mariadb=mariadb)) if other else made
    except NotUnderstood as error:
        raise NoRewrite(f"the statement can't be parsed: {error}", _BY_HAND) from error


class _Statement:
    def __init__(
        self, text: str, database: str, names: TargetNames, inherited: Inherited | None, *, mariadb: bool
    ) -> None:
        self._text = text
        self._cursor = Cursor(text, tokenize(text, mariadb=mariadb))
        self._edits = Edits(text)
        self._database = database
        self._names = names
        self._inherited = inherited
        self._kind = kind_of(text)
        self._left_out: list[str] = []
        self._renames: list[tuple[Name, Name]] = []
        self._own: Name = ("", "")

    def rewritten(self) -> Rewritten:
        kept = self._rewrite()
        sql = self._edits.whole().strip().rstrip(";") if kept else ""
        return Rewritten(sql, tuple(self._left_out), tuple(self._renames))

    def _rewrite(self) -> bool:
        cursor, kind = self._cursor, self._kind
        if "\ufffd" in self._text:
            raise NoRewrite("the statement is not in UTF-8", _BY_HAND)
        if cursor.sees("SET", "STATEMENT"):
            raise NoRewrite("SET STATEMENT ... FOR sets variables of the source server", _BY_HAND)
        if " TEMPORARY " in kind:
            return False
        if kind == "TRUNCATE TABLE":
            cursor.expect("TRUNCATE")
            cursor.accept("TABLE")
            return self._table()
        while not cursor.ended and cursor.word() not in _OBJECTS.get(kind, ()):
            cursor.take()
        if cursor.ended:
            raise NoRewrite(f"{kind} is not a statement about tables", _BY_HAND)
        cursor.take()
        match kind:
            case "CREATE TABLE":
                return self._create()
            case "ALTER TABLE":
                return self._alter()
            case "DROP TABLE":
                return self._drop()
            case "RENAME TABLE":
                return self._rename()
            case "CREATE INDEX" | "DROP INDEX":
                return self._index(created=kind == "CREATE INDEX")
        return self._of_database()

    # Names

    def _complete(self, name: Name) -> Name:
        return (name[0] or self._own[0] or self._database, name[1])

    def _table(self) -> bool:
        """A name of a table. False when it is not replicated."""
        start = self._cursor.mark()
        name = self._complete(self._cursor.qualified())
        target = self._names.table(name)
        if target is None:
            return False
        self._edits.replace(self._cursor.span(start), written(target))
        self._own = self._own if self._own[1] else name
        return True

    def _other_table(self, where: str) -> None:
        """The name of another table in the statement, which the target must have."""
        start = self._cursor.mark()
        name = self._complete(self._cursor.qualified())
        self._cursor.back(start)
        if not self._table():
            raise NoRewrite(f"{where} {'.'.join(name)}, which is not replicated", _BY_HAND)

    def _references(self, mark: int) -> None:
        """The tables that foreign keys refer to. REFERENCES is a reserved word: where it is bare, it is the clause."""
        cursor = self._cursor
        cursor.back(mark)
        while not cursor.ended:
            if cursor.accept("REFERENCES"):
                self._other_table("a foreign key refers to")
            else:
                cursor.take()
        cursor.back(mark)

    def _columns(self) -> Columns:
        return self._names.columns(self._own)

    def _elements(self) -> Elements:
        def of_other(start: int) -> Columns:
            """Of the table whose name begins there."""
            cursor = self._cursor
            here = cursor.mark()
            while cursor.token.start != start:
                cursor.back(cursor.mark() - 1)
            name = self._complete(cursor.qualified())
            cursor.back(here)
            return self._names.columns(name)

        return Elements(self._cursor, self._edits, self._columns(), of_other)

    # Statements

    def _create(self) -> bool:
        cursor = self._cursor
        cursor.accept("IF", "NOT", "EXISTS")
        if not self._table():
            return False
        start = cursor.mark()
        if cursor.accept("LIKE") or (cursor.is_mark("(") and cursor.word(1) == "LIKE" and cursor.take()):
            cursor.accept("LIKE")
            self._like()
            return True
        self._references(start)
        self._refuse_rows(start)
        if columns := self._columns():
            if not self._elements().listed(whole=True):
                raise NoRewrite("no column of the table is left", _BY_HAND)
            self._check_options(columns)
        return True

    def _like(self) -> None:
        """CREATE TABLE ... LIKE: of the target's tables, whose columns are those that transforms have added to the
        second one."""
        cursor = self._cursor
        start = cursor.mark()
        name = self._complete(cursor.qualified())
        cursor.back(start)
        self._other_table("CREATE TABLE ... LIKE")
        names = self._names
        if names.table(self._own) != names.table(name) and names.added(self._own) != names.added(name):
            raise NoRewrite(f"transforms.add add other columns to {'.'.join(name)} than to its copy", _BY_HAND)

    def _refuse_rows(self, mark: int) -> None:
        """A query behind the definition. MySQL logs CREATE TABLE ... SELECT as the definition, START TRANSACTION, and
        the rows."""
        cursor = self._cursor
        cursor.back(mark)
        told = self._inherited is None
        if cursor.is_mark("(") and cursor.word(1) not in _SELECTS:
            cursor.group()
        elif not cursor.ended:
            raise NoRewrite("CREATE TABLE takes rows from a query", _BY_HAND)
        end = cursor.span(mark)[1]
        while not cursor.ended:
            at = cursor.mark()
            told = told or cursor.word() in ("CHARSET", "COLLATE") or cursor.sees("CHARACTER", "SET")
            if cursor.accept("START", "TRANSACTION"):
                self._edits.replace(cursor.span(at), "")
            elif cursor.accept("UNION"):
                raise NoRewrite("a MERGE table names its tables", _BY_HAND)
            elif cursor.word() in ("SELECT", "VALUES") or (cursor.sees("AS") and cursor.word(1) == "SELECT"):
                raise NoRewrite("CREATE TABLE takes rows from a query", _BY_HAND)
            else:
                cursor.skip()
        if not told:
            self._edits.replace((end, end), str(self._inherited))
        cursor.back(mark)

    def _check_options(self, columns: Columns) -> None:
        """Partitions may name columns."""
        depth, start = 0, self._cursor.mark()
        while not self._cursor.ended:
            self._cursor.take()
        for token in self._cursor.taken(start):
            depth += {"(": 1, ")": -1}.get(token.value, 0) if token.kind == "mark" else 0
            if (token.kind == "name" or (token.kind == "word" and depth)) and columns.mentions(token.value):
                raise NoRewrite(f"an option names {token.value}, a column that is excluded or renamed", _BY_HAND)

    def _alter(self) -> bool:
        cursor = self._cursor
        cursor.accept("IF", "EXISTS")
        if not self._table():
            return False
        if cursor.accept("WAIT"):
            cursor.take()
        start = cursor.mark()
        self._references(start)
        self._names_of_clauses(start)
        return self._clauses() if self._columns() else True

    def _names_of_clauses(self, mark: int) -> None:
        """RENAME TO."""
        cursor, first = self._cursor, True
        while not cursor.ended:
            if first and cursor.accept("RENAME"):
                if cursor.word() not in ("COLUMN", "INDEX", "KEY"):
                    _ = cursor.accept("TO") or cursor.accept("AS") or cursor.accept_mark("=")
                    self._other_table("the table gets the name")
            elif first and cursor.word() in ("EXCHANGE", "DISCARD", "IMPORT"):
                raise NoRewrite(f"{cursor.word()} can't be repeated safely after a crash", _BY_HAND)
            else:
                first = cursor.is_mark(",")
                cursor.skip()
        cursor.back(mark)

    def _clauses(self) -> bool:
        cursor, elements, kept = self._cursor, self._elements(), []
        begin = end = cursor.token.start
        while not cursor.ended:
            start = cursor.mark()
            stays = elements.clause()
            begin_of, end = cursor.span(start)
            if stays:
                kept.append(self._edits.part(begin_of, end))
            else:
                self._left_out.append(self._text[begin_of:end])
            if not (cursor.accept_mark(",") or cursor.ended):
                raise cursor.wrong("a comma")
        if elements.inline:
            raise NoRewrite(f"a key of {elements.inline[0][1]} lacks columns that transforms.add add to it", _BY_HAND)
        self._edits.replace((begin, end), ", ".join(kept))
        return bool(kept)

    def _drop(self) -> bool:
        cursor = self._cursor
        cursor.accept("IF", "EXISTS")
        begin = end = cursor.token.start
        kept = []
        while True:
            start = cursor.mark()
            target = self._names.table(self._complete(cursor.qualified()))
            end = cursor.span(start)[1]
            if target is not None:
                kept.append(written(target))
            if not cursor.accept_mark(","):
                break
        self._edits.replace((begin, end), ", ".join(kept))
        return bool(kept)

    def _rename(self) -> bool:
        cursor, kept = self._cursor, []
        cursor.accept("IF", "EXISTS")
        begin = end = cursor.token.start
        while True:
            old = self._complete(cursor.qualified())
            cursor.expect("TO")
            start = cursor.mark()
            new = self._complete(cursor.qualified())
            end = cursor.span(start)[1]
            if (pair := self._renamed(old, new)) is not None:
                self._renames.append(pair)
                kept.append(f"{written(pair[0])} TO {written(pair[1])}")
            if not cursor.accept_mark(","):
                break
        self._edits.replace((begin, end), ", ".join(kept))
        return bool(kept)

    def _renamed(self, old: Name, new: Name) -> tuple[Name, Name] | None:
        before, after = self._names.table(old), self._names.table(new)
        if before is None and after is None:
            return None
        if before is None or after is None:
            other = old if before is None else new
            raise NoRewrite(
                f"{'.'.join(old)} is renamed to {'.'.join(new)}, and {'.'.join(other)} is not replicated", _BY_HAND
            )
        return (before, after) if before != after else None

    def _index(self, *, created: bool) -> bool:
        cursor = self._cursor
        unique = any(token.value.upper() == "UNIQUE" for token in cursor.taken(0))
        cursor.accept("IF", "NOT", "EXISTS")
        cursor.accept("IF", "EXISTS")
        cursor.name()
        while not cursor.accept("ON"):
            cursor.take()
        if not self._table():
            return False
        if created and self._columns():
            start = cursor.mark()
            if not self._elements().constraint(unique=unique):
                self._left_out.append(self._text)
                return False
            cursor.span(start)
        return True

    def _of_database(self) -> bool:
        cursor = self._cursor
        cursor.accept("IF", "NOT", "EXISTS")
        cursor.accept("IF", "EXISTS")
        options = cursor.word() in ("CHARACTER", "CHARSET", "COLLATE", "DEFAULT", "READ") and cursor.word(1)
        start = cursor.mark()
        name = self._database if self._kind == "ALTER DATABASE" and options else cursor.name()
        target = self._names.database(name)
        if target is None:
            return False
        span = cursor.span(start)
        self._edits.replace(span, quoted(target) + (" " if span[0] == span[1] else ""))
        return True


_OBJECTS: Final = {
    **dict.fromkeys(("CREATE TABLE", "ALTER TABLE", "DROP TABLE", "RENAME TABLE"), ("TABLE", "TABLES")),
    **dict.fromkeys(("CREATE INDEX", "DROP INDEX"), ("INDEX", "KEY")),
    **dict.fromkeys(("CREATE DATABASE", "ALTER DATABASE", "DROP DATABASE"), ("DATABASE", "SCHEMA")),
}


def written(name: Name) -> str:
    return f"{quoted(name[0])}.{quoted(name[1])}"
