"""Parser of CREATE TABLE: columns, indexes, constraints and options."""

from __future__ import annotations

from typing import Final

from replicator.schema.column_parser import charset_word, column, references
from replicator.schema.ddl_ast import Charset, ColumnSpec, CreateTable, IndexSpec, TableOptions
from replicator.schema.token_cursor import Cursor, Name

_KEYS: Final = ("KEY", "INDEX")
_OPTIONS: Final = frozenset(
    (
        *("AUTO_INCREMENT", "AUTOEXTEND_SIZE", "AVG_ROW_LENGTH", "CHECKSUM", "COMPRESSION", "CONNECTION", "DATA"),
        *("DELAY_KEY_WRITE", "ENCRYPTION", "ENGINE", "ENGINE_ATTRIBUTE", "INDEX", "INSERT_METHOD", "KEY_BLOCK_SIZE"),
        *("MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "PASSWORD", "ROW_FORMAT", "SECONDARY_ENGINE", "STATS_AUTO_RECALC"),
        *("SECONDARY_ENGINE_ATTRIBUTE", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES", "STORAGE", "TABLESPACE", "TYPE"),
        *("UNION", "ALGORITHM", "LOCK", "PAGE_CHECKSUM", "SEQUENCE", "TABLE_CHECKSUM", "TRANSACTIONAL"),
    )
)
_SELECTS: Final = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "AS", "IGNORE", "REPLACE"})


class TableBody:
    """What the parentheses of CREATE TABLE or ADD (...) list."""

    def __init__(self) -> None:
        self.columns: list[ColumnSpec] = []
        self.indexes: list[IndexSpec] = []
        self.like: Name | None = None

    def element(self, cursor: Cursor) -> None:
        if cursor.accept("LIKE"):
            self.like = cursor.qualified()
        elif cursor.accept("PERIOD", "FOR"):
            cursor.skip_element()
        elif not self.constraint(cursor):
            self.columns.append(column(cursor))

    def constraint(self, cursor: Cursor) -> bool:
        """An index or a constraint, if that is what comes."""
        symbol = ""
        if cursor.accept("CONSTRAINT"):
            if cursor.word() not in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
                symbol = cursor.name()
            if not cursor.sees("CHECK") and cursor.word() not in ("PRIMARY", "UNIQUE", "FOREIGN"):
                raise cursor.wrong("a constraint")
        if cursor.accept("CHECK"):
            cursor.group()
            cursor.skip_element()
        elif cursor.accept("FOREIGN", "KEY"):
            _foreign(cursor)
        else:
            found = index(cursor, symbol)
            if found is not None:
                self.indexes.append(found)
            return found is not None
        return True


def _foreign(cursor: Cursor) -> None:
    cursor.accept("IF", "NOT", "EXISTS")
    if not cursor.is_mark("("):
        cursor.name()
    cursor.group()
    cursor.expect("REFERENCES")
    references(cursor)


def index(cursor: Cursor, symbol: str = "") -> IndexSpec | None:
    """An index definition; None, and nothing taken, when what comes is none."""
    if cursor.accept("PRIMARY", "KEY"):
        return _index_rest(cursor, "PRIMARY", "PRIMARY")
    if cursor.accept("UNIQUE"):
        cursor.accept_any(_KEYS)
        return _index_rest(cursor, "UNIQUE", symbol)
    if cursor.word() in ("FULLTEXT", "SPATIAL") or (cursor.sees("VECTOR") and cursor.word(1) in _KEYS):
        cursor.take()
        cursor.accept_any(_KEYS)
        return _index_rest(cursor, "INDEX", "")
    if cursor.accept_any(_KEYS):
        return _index_rest(cursor, "INDEX", "")
    return None


def _index_rest(cursor: Cursor, kind: str, symbol: str) -> IndexSpec:
    unless_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = ""
    if not cursor.is_mark("(") and not (cursor.sees("USING") or cursor.sees("TYPE")):
        name = cursor.name()
    while not (cursor.ended or cursor.is_mark("(")):
        cursor.take()  # USING BTREE
    columns, whole = key_parts(cursor)
    cursor.skip_element()
    if kind == "PRIMARY":
        name = "PRIMARY"
    return IndexSpec(kind, columns, name or symbol, whole, unless_exists)  # type: ignore[arg-type]


def key_parts(cursor: Cursor) -> tuple[tuple[str, ...], bool]:
    """(column [(length)] [ASC|DESC], (expression), ...): the columns, and whether that is all of it."""
    columns: list[str] = []
    whole = True
    cursor.expect_mark("(")

    def part() -> None:
        nonlocal whole
        if cursor.is_mark("("):
            cursor.group()
            whole = False
        else:
            columns.append(cursor.name())
            if cursor.is_mark("("):
                cursor.group()
                whole = False
        cursor.skip_element()

    cursor.listed(part)
    cursor.expect_mark(")")
    return tuple(columns), whole


def create_table(cursor: Cursor) -> CreateTable:
    """Behind CREATE TABLE."""
    unless_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.qualified()
    if cursor.accept("LIKE"):
        return CreateTable(name, unless_exists=unless_exists, like=cursor.qualified())
    body = TableBody()
    if cursor.is_mark("(") and not _selects(cursor, 1):
        cursor.expect_mark("(")
        cursor.listed(lambda: body.element(cursor))
        cursor.expect_mark(")")
    options = Options()
    while not (cursor.ended or cursor.is_mark("(") or _selects(cursor)):
        cursor.accept_mark(",")
        if not options.read(cursor):
            raise cursor.wrong("an option of a table")
    selected = not cursor.ended
    while not cursor.ended:
        cursor.skip()
    return CreateTable(
        name,
        tuple(body.columns),
        tuple(body.indexes),
        options.value(),
        unless_exists,
        body.like,
        selected=selected,
    )


def _selects(cursor: Cursor, ahead: int = 0) -> bool:
    word = cursor.word(ahead)
    if word == "WITH":  # SYSTEM VERSIONING is an option
        return cursor.word(ahead + 1) != "SYSTEM"
    return (word in _SELECTS and (not ahead or word in ("SELECT", "VALUES", "TABLE"))) or cursor.is_mark("(", ahead)


class Options:
    """Options of a table, as CREATE and ALTER take them."""

    def __init__(self) -> None:
        self._charset: str | None = None
        self._collation: str | None = None
        self._comment: str | None = None
        self._versioned = False
        self.said = False

    def value(self) -> TableOptions:
        return TableOptions(Charset(self._charset, self._collation), self._comment, self._versioned)

    def read(self, cursor: Cursor) -> bool:
        """Takes one option; False when what comes is none."""
        if cursor.accept("PARTITION", "BY"):
            _partitions(cursor)
            return True
        if cursor.accept("WITH", "SYSTEM", "VERSIONING"):
            self._versioned = self.said = True
            return True
        if cursor.accept("START", "TRANSACTION"):  # MySQL logs CREATE TABLE ... SELECT like this
            return True
        mark = cursor.mark()
        cursor.accept("DEFAULT")
        if cursor.accept("CHARACTER", "SET") or cursor.accept("CHAR", "SET") or cursor.accept("CHARSET"):
            self._charset = charset_word(cursor) or None
        elif cursor.accept("COLLATE"):
            self._collation = charset_word(cursor) or None
        elif cursor.accept("COMMENT"):
            cursor.accept_mark("=")
            self._comment = cursor.string()
        else:
            cursor.back(mark)
            return _other_option(cursor)
        self.said = True
        return True


def _other_option(cursor: Cursor) -> bool:
    """name [=] value; without the sign only names that we know, or a clause that we don't would pass for an option."""
    if cursor.ended or not (cursor.word() in _OPTIONS or cursor.is_mark("=", 1)):
        return False
    if cursor.take().value.upper() in ("DATA", "INDEX"):
        cursor.expect("DIRECTORY")
    cursor.accept_mark("=")
    if cursor.ended or cursor.is_mark(","):
        return False
    cursor.skip()
    return True


def _partitions(cursor: Cursor) -> None:
    """Up to a SELECT or the end: partitions say nothing of columns."""
    while not cursor.ended and cursor.word() not in ("SELECT", "AS", "IGNORE", "REPLACE", "WITH"):
        cursor.skip()
