"""Parser of column definitions: name, type and attributes."""

from __future__ import annotations

from typing import Final

from replicator.model.table import Declared
from replicator.schema.ddl_ast import Charset, ColumnSpec, Default
from replicator.schema.token_cursor import Cursor

NATIONAL: Final = "utf8mb3"
_SECOND_WORDS: Final = {
    "DOUBLE": ("PRECISION",),
    "CHAR": ("VARYING",),
    "CHARACTER": ("VARYING",),
    "NCHAR": ("VARYING", "VARCHAR"),
    "LONG": ("VARCHAR", "VARBINARY"),
    "NATIONAL": ("CHAR", "CHARACTER", "VARCHAR"),
}
_STORED: Final = {"STORED": "STORED", "PERSISTENT": "STORED", "VIRTUAL": "VIRTUAL"}
_COMMON: Final = frozenset({"NOT", "NULL", "DEFAULT", "AUTO_INCREMENT", "COMMENT"})
_NOW: Final = frozenset({"CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"})


class _ColumnBuilder:
    """What is gathered of a column while its definition is read."""

    def __init__(self) -> None:
        self.type = self.spelled = ""
        self.arguments: tuple[str, ...] = ()
        self.charset: str | None = None
        self.collation: str | None = None
        self.binary = self.unsigned = self.zerofill = self.auto_increment = False
        self.default: Default | None = None
        self.generated = self.on_update = self.comment = self.key = ""
        self.nullable: bool | None = None
        self.visible = True
        self.row_end = False


def column(cursor: Cursor) -> ColumnSpec:
    """A definition with its name, up to a comma, a closing parenthesis, FIRST, AFTER or the end.

    Raises NotUnderstood for an attribute that neither server's grammar has.
    """
    name = cursor.name()
    return definition(cursor, name)


def definition(cursor: Cursor, name: str) -> ColumnSpec:
    """The same without the name."""
    draft = _ColumnBuilder()
    _type(cursor, draft)
    while not (cursor.ended or cursor.is_mark(",") or cursor.is_mark(")")):
        if cursor.word() in ("FIRST", "AFTER"):
            break
        first = _attribute if cursor.word() in _COMMON else _type_attribute
        if not (first(cursor, draft) or _type_attribute(cursor, draft) or _attribute(cursor, draft)):
            raise cursor.wrong("an attribute of a column")
    return _finished(name, draft)


def _finished(name: str, draft: _ColumnBuilder) -> ColumnSpec:
    nullable, key = draft.nullable, draft.key
    if draft.type == "SERIAL":
        draft.unsigned = draft.auto_increment = True
        nullable, key = False, key or "UNIQUE"
    declared = Declared(
        type=draft.type,
        arguments=draft.arguments,
        unsigned=draft.unsigned or draft.zerofill,
        zerofill=draft.zerofill,
        has_default=draft.default is not None,
        default=draft.default.text if draft.default else None,
        default_is_expression=draft.default is not None and draft.default.expression,
        auto_increment=draft.auto_increment,
        generated=draft.generated,
        comment=draft.comment,
        on_update=draft.on_update,
        spelled=draft.spelled,
        default_is_literal=draft.default is not None and draft.default.literal,
    )
    text = Charset(draft.charset, draft.collation, draft.binary)
    return ColumnSpec(name, declared, text, nullable, draft.visible, key, draft.row_end)  # type: ignore[arg-type]


def _type(cursor: Cursor, draft: _ColumnBuilder) -> None:
    if cursor.token.kind != "word" or cursor.ended:
        raise cursor.wrong("a type")
    written = cursor.take().value
    first = written.upper()
    words = [first]
    if second := cursor.accept_any(_SECOND_WORDS.get(first, ())):
        words.append(second)
        if first in ("NATIONAL", "LONG") and cursor.accept("VARYING"):
            words.append("VARYING")
    elif first == "LONG" and cursor.accept_any(("CHAR", "CHARACTER")):
        cursor.expect("VARYING")
        words = ["LONG", "VARCHAR"]
    draft.type = " ".join(words)
    draft.spelled = written if words == [first] else draft.type.lower() if written.islower() else draft.type
    if first in ("NCHAR", "NVARCHAR", "NATIONAL"):
        draft.charset = NATIONAL
    if cursor.accept_mark("("):
        arguments: list[str] = []
        cursor.listed(lambda: arguments.append(_argument(cursor)))
        cursor.expect_mark(")")
        draft.arguments = tuple(arguments)


def _argument(cursor: Cursor) -> str:
    if cursor.token.kind in ("number", "word") and not cursor.token.value.startswith("_"):
        return cursor.take().value
    if cursor.token.kind == "literal":
        raw = cursor.take().value
        return bytes.fromhex(raw.strip("xX'").removeprefix("0x")).decode("utf-8", "replace")
    return cursor.string()


def charset_word(cursor: Cursor) -> str:
    """The name of a character set or collation; "" for DEFAULT."""
    cursor.accept_mark("=")
    token = cursor.take()
    if token.kind not in ("word", "name", "string", "quoted"):
        raise cursor.wrong("a character set")
    return "" if token.value.upper() == "DEFAULT" and token.kind == "word" else token.value.lower()


def _type_attribute(cursor: Cursor, draft: _ColumnBuilder) -> bool:
    """What belongs to the type, though it may stand anywhere behind it."""
    if cursor.accept("UNSIGNED"):
        draft.unsigned = True
    elif cursor.accept("ZEROFILL"):
        draft.zerofill = True
    elif cursor.accept("CHARACTER", "SET") or cursor.accept("CHAR", "SET") or cursor.accept("CHARSET"):
        draft.charset = charset_word(cursor) or None
    elif cursor.accept("COLLATE"):
        draft.collation = charset_word(cursor) or None
    elif cursor.accept("BINARY"):
        draft.binary = True
    elif word := cursor.accept_any(("ASCII", "UNICODE", "BYTE")):
        draft.charset = {"ASCII": "latin1", "UNICODE": "ucs2", "BYTE": "binary"}[word]
    elif cursor.accept("COMPRESSED"):
        if cursor.accept_mark("="):
            cursor.take()
        draft.type += " COMPRESSED"
    else:
        return bool(cursor.accept_any(("SIGNED",)))
    return True


def _attribute(cursor: Cursor, draft: _ColumnBuilder) -> bool:
    if cursor.accept("NOT", "NULL"):
        draft.nullable = False
    elif cursor.accept("NULL"):
        draft.nullable = True
    elif cursor.accept("DEFAULT"):
        draft.default = default(cursor)
    elif cursor.accept("ON", "UPDATE"):
        draft.on_update = _now(cursor)
    elif cursor.accept("AUTO_INCREMENT"):
        draft.auto_increment = True
    elif cursor.accept("PRIMARY", "KEY") or cursor.accept("PRIMARY") or cursor.accept("KEY"):
        draft.key = "PRIMARY"
    elif cursor.accept("UNIQUE"):
        cursor.accept("KEY")
        draft.key = draft.key or "UNIQUE"
    elif cursor.accept("COMMENT"):
        cursor.accept_mark("=")
        draft.comment = cursor.string()
    elif word := cursor.accept_any(("VISIBLE", "INVISIBLE")):
        draft.visible = word == "VISIBLE"
    else:
        return _generated(cursor, draft) or _passed_over(cursor, draft)
    return True


def _generated(cursor: Cursor, draft: _ColumnBuilder) -> bool:
    if cursor.accept("GENERATED", "ALWAYS"):
        cursor.expect("AS")
    elif not cursor.accept("AS"):
        if word := cursor.accept_any(_STORED):
            draft.generated = _STORED[word]
            return True
        return False
    if cursor.accept("ROW"):  # of a system-versioned table: the server fills it in, but it is stored and logged
        word = cursor.accept_any(("START", "END"))
        if not word:
            raise cursor.wrong("START or END")
        draft.nullable, draft.row_end = False, word == "END"
        return True
    cursor.group()
    draft.generated = draft.generated or "VIRTUAL"
    return True


def _passed_over(cursor: Cursor, draft: _ColumnBuilder) -> bool:
    """Attributes that say nothing of the values."""
    if cursor.accept("SERIAL", "DEFAULT", "VALUE"):
        draft.auto_increment, draft.nullable, draft.key = True, False, draft.key or "UNIQUE"
    elif cursor.accept("CHECK"):
        _check(cursor)
    elif cursor.accept("CONSTRAINT"):
        if not cursor.sees("CHECK"):
            cursor.name()
        cursor.expect("CHECK")
        _check(cursor)
    elif cursor.accept("REFERENCES"):
        references(cursor)
    elif cursor.accept_any(("COLUMN_FORMAT", "STORAGE", "SRID", "REF_SYSTEM_ID", "ENGINE_ATTRIBUTE")) or (
        cursor.accept_any(("SECONDARY_ENGINE_ATTRIBUTE",))
    ):
        cursor.accept_mark("=")
        cursor.take()
    elif cursor.accept_any(("WITH", "WITHOUT")):
        cursor.expect("SYSTEM", "VERSIONING")
    else:
        return cursor.accept("NOT", "SECONDARY") or _engine_option(cursor)
    return True


def _engine_option(cursor: Cursor) -> bool:
    """MariaDB takes options of engines: name = value."""
    if cursor.token.kind not in ("word", "name") or not cursor.is_mark("=", 1):
        return False
    for _ in range(3):
        cursor.take()
    return True


def _check(cursor: Cursor) -> None:
    cursor.group()
    cursor.accept("NOT")
    cursor.accept("ENFORCED")


def references(cursor: Cursor) -> None:
    """Behind REFERENCES."""
    cursor.qualified()
    if cursor.is_mark("("):
        cursor.group()
    while True:
        if cursor.accept("MATCH"):
            cursor.take()
        elif cursor.sees("ON", "DELETE") or (cursor.sees("ON", "UPDATE") and cursor.word(2) not in _NOW):
            cursor.accept("ON")
            cursor.take()
            if not cursor.accept("SET"):
                cursor.accept("NO")
            cursor.take()
        else:
            return


def _now(cursor: Cursor) -> str:
    mark = cursor.mark()
    if not cursor.accept_any(_NOW):
        raise cursor.wrong("CURRENT_TIMESTAMP")
    if cursor.is_mark("("):
        cursor.group()
    return cursor.since(mark)


def default(cursor: Cursor) -> Default:
    """Behind DEFAULT."""
    mark = cursor.mark()
    if cursor.is_mark("("):
        return Default(cursor.group(), expression=True)
    if cursor.accept("NULL"):
        return Default(None)
    if word := cursor.accept_any(("TRUE", "FALSE")):
        return Default(word, literal=True)
    if cursor.token.kind in ("string", "quoted"):
        return Default(cursor.string())
    if cursor.is_mark("-") or cursor.is_mark("+"):
        sign = cursor.take().value
        return Default(sign.strip("+") + cursor.take().value)
    if cursor.token.kind in ("number", "literal"):
        literal = cursor.token.kind == "literal"
        return Default(cursor.take().value, literal=literal)
    return _default_word(cursor, mark)


def _default_word(cursor: Cursor, mark: int) -> Default:
    """_charset 'x', DATE 'x', NEXT VALUE FOR x, a function with or without arguments."""
    if cursor.accept("NEXT", "VALUE", "FOR"):
        cursor.qualified()
        return Default(cursor.since(mark), expression=True)
    if cursor.token.kind not in ("word", "name") or cursor.ended:
        raise cursor.wrong("a default")
    first, following = cursor.take(), cursor.token
    if following.kind == "literal" and first.value.startswith("_"):
        cursor.take()
        return Default(cursor.since(mark), literal=True)
    if following.kind in ("string", "quoted"):
        return Default(cursor.string())
    while cursor.accept_mark("."):
        cursor.name()
    if cursor.is_mark("("):
        cursor.group()
    return Default(cursor.since(mark), expression=True)
