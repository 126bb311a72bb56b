"""Elements of CREATE TABLE and clauses of ALTER TABLE whose columns have other names at the target, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from replicator.schema.rewrite.edits import Edits
from replicator.schema.rewrite.names import Columns, NoRewrite, quoted
from replicator.schema.token_cursor import Cursor
from replicator.schema.tokens import Token

_INDEX_WORDS: Final = frozenset({"PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK"})
_BY_HAND: Final = "Change the table at the target by hand; then `replicator task skip NAME`."


class Elements:
    """Rewrites elements of one table. Each method takes one element from the cursor and tells whether it is kept.

    Args:
        columns: of the table.
        of_other: columns of another table, by the span of its name: of those that foreign keys refer to.

    Attributes:
        inline: keys that were in the definitions of columns, and have to get further columns: (kind, column).
    """

    def __init__(self, cursor: Cursor, edits: Edits, columns: Columns, of_other: Callable[[int], Columns]) -> None:
        self._cursor = cursor
        self._edits = edits
        self._columns = columns
        self._of_other = of_other
        self.inline: list[tuple[str, str]] = []

    # CREATE TABLE, ADD

    def is_constraint(self) -> bool:
        cursor = self._cursor
        if cursor.sees("CONSTRAINT"):
            return True
        if cursor.sees("VECTOR"):
            return cursor.word(1) in ("KEY", "INDEX")
        return cursor.word() in _INDEX_WORDS or cursor.sees("PERIOD", "FOR")

    def element(self) -> bool:
        """Of the list of CREATE TABLE or ADD (...)."""
        return self.constraint() if self.is_constraint() else self.column()

    def column(self) -> bool:
        """A column definition, with the place that ADD and MODIFY may give it."""
        start, name = self._cursor.mark(), self._cursor.token.value
        kept = self._own_name(defines=True)
        return self._rest(start, kept, name if self._columns.keys else "")

    def constraint(self, *, unique: bool = False) -> bool:
        """`unique`: it is the list of an index that is known to be unique."""
        cursor = self._cursor
        start = cursor.mark()
        primary = foreign = False
        if cursor.accept("CONSTRAINT") and cursor.word() not in _INDEX_WORDS:
            cursor.name()
        while not (cursor.ended or cursor.is_mark("(") or cursor.is_mark(",") or cursor.is_mark(")")):
            primary, foreign = primary or cursor.sees("PRIMARY"), foreign or cursor.sees("FOREIGN")
            unique = unique or cursor.sees("UNIQUE")
            if cursor.sees("CHECK") or cursor.sees("PERIOD"):
                return self._rest(start, kept=True)
            cursor.take()
        if foreign:
            self._refuse_reference()
        hidden = self._column_list(self._columns, self._columns.keys if primary or unique else ())
        if hidden and primary:
            raise NoRewrite(f"the primary key has the column {hidden}, which transforms.columns exclude", _BY_HAND)
        if foreign and cursor.accept("REFERENCES"):
            at = cursor.token.start
            cursor.qualified()
            if cursor.is_mark("(") and (missing := self._column_list(self._of_other(at))):
                hidden = hidden or missing
        return self._rest(start, not hidden)

    def _column_list(self, columns: Columns, more: Sequence[str] = ()) -> str:
        """(column [(length)] [ASC], (expression), ...). Returns a hidden column in it, "" without. `more`: columns that
        are added to it."""
        cursor, hidden = self._cursor, ""
        cursor.expect_mark("(")
        while not cursor.is_mark(")"):
            if cursor.is_mark("("):
                start = cursor.mark()
                cursor.group()
                self._check_expression(cursor.taken(start), columns)
            else:
                hidden = self._name(columns) or hidden
            cursor.skip_element()
            cursor.accept_mark(",")
        if more:
            end = cursor.token.start
            self._edits.replace((end, end), "".join(f", {quoted(name)}" for name in more))
        cursor.expect_mark(")")
        return hidden

    def _name(self, columns: Columns) -> str:
        """A column's name. Returns it when the column is hidden."""
        start = self._cursor.mark()
        name = self._cursor.name()
        if name.lower() in columns.renamed:
            self._edits.replace(self._cursor.span(start), quoted(columns.renamed[name.lower()]))
        return name if name.lower() in columns.hidden else ""

    def _own_name(self, *, defines: bool) -> bool:
        """A column's name. False when the target does not have it."""
        name = self._cursor.token.value
        if defines and name.lower() in self._columns.masked:
            raise NoRewrite(
                f"the column {name} is masked, so that its type at the target is not known from the statement", _BY_HAND
            )
        return not self._name(self._columns)

    def _refuse_reference(self) -> None:
        if self._columns.keys:
            raise NoRewrite(
                f"a foreign key lacks {', '.join(self._columns.keys)}, which transforms.add add to the key", _BY_HAND
            )

    def _inline_key(self, column: str) -> bool:
        """Takes PRIMARY KEY or UNIQUE out of the definition of a column."""
        cursor = self._cursor
        start, kind = cursor.mark(), "PRIMARY KEY"
        if cursor.sees("REFERENCES"):
            self._refuse_reference()
        if cursor.accept("UNIQUE"):
            kind = "UNIQUE KEY"
            cursor.accept("KEY")
        elif not (cursor.accept("PRIMARY", "KEY") or cursor.accept("KEY")):
            return False
        self._edits.replace(cursor.span(start), "")
        self.inline.append((kind, self._columns.renamed.get(column.lower(), column)))
        return True

    def _rest(self, start: int, kept: bool, column: str = "") -> bool:
        """To the end of the element. Column names that are left in expressions must mean the same at the target.
        `column`: whose definition it is, and whose keys get further columns."""
        cursor = self._cursor
        while not (cursor.ended or cursor.is_mark(",") or cursor.is_mark(")")):
            if cursor.accept("AFTER"):
                self._after()
            elif not (column and self._inline_key(column)):
                cursor.skip()
        if kept:
            self._check_rest(cursor.taken(start))
        return kept

    def _after(self) -> None:
        """AFTER a column that the target does not have: at the end, which is as good, as columns go by name."""
        start = self._cursor.mark() - 1
        if self._name(self._columns):
            self._edits.replace(self._cursor.span(start), "")

    def _check_rest(self, tokens: list[Token]) -> None:
        depth = 0
        for token in tokens:
            depth += {"(": 1, ")": -1}.get(token.value, 0) if token.kind == "mark" else 0
            named = token.kind == "name" or (token.kind in ("word", "quoted") and depth > 0)
            if named and not self._edits.covers(token.start):
                self._check_name(token.value, self._columns)

    def _check_expression(self, tokens: list[Token], columns: Columns) -> None:
        for token in tokens:
            if token.kind in ("name", "word", "quoted"):
                self._check_name(token.value, columns)

    def _check_name(self, name: str, columns: Columns) -> None:
        if columns.mentions(name):
            raise NoRewrite(f"an expression names {name}, a column that is excluded or renamed", _BY_HAND)

    # Clauses of ALTER TABLE

    def clause(self) -> bool:
        cursor = self._cursor
        start = cursor.mark()
        if cursor.accept("ADD"):
            return self._add(start)
        if cursor.accept("MODIFY"):
            cursor.accept("COLUMN")
            cursor.accept("IF", "EXISTS")
            return self.column()
        if cursor.accept("CHANGE"):
            return self._two_names(start, defines=True)
        if cursor.accept("RENAME", "COLUMN"):
            return self._two_names(start, defines=False)
        if cursor.accept("DROP"):
            return self._drop(start)
        if cursor.sees("ALTER") and cursor.word(1) not in ("INDEX", "CHECK", "CONSTRAINT", "KEY"):
            cursor.take()
            cursor.accept("COLUMN")
            return self._rest(start, self._own_name(defines=False))
        if cursor.accept("ORDER", "BY"):
            while not cursor.ended:
                cursor.take()
            return False
        return self._rest(start, kept=True)

    def _add(self, start: int) -> bool:
        cursor = self._cursor
        if cursor.sees("PARTITION") or cursor.sees("SYSTEM"):
            return self._rest(start, kept=True)
        if not cursor.accept("COLUMN") and self.is_constraint():
            return self.constraint()
        cursor.accept("IF", "NOT", "EXISTS")
        return self.listed() if cursor.is_mark("(") else self.column()

    def listed(self, *, whole: bool = False) -> bool:
        """( element, ... ): those that stay. False without any. `whole`: it is the definition of a table."""
        cursor, kept = self._cursor, []
        cursor.expect_mark("(")
        begin = cursor.token.start
        while True:
            start = cursor.mark()
            if self.element():
                kept.append(cursor.span(start))
            end = cursor.span(start)[1]
            if not cursor.accept_mark(","):
                break
        cursor.expect_mark(")")
        parts = [self._edits.part(*span) for span in kept]
        if whole:
            keys = "".join(f", {quoted(name)}" for name in self._columns.keys)
            parts += [each.definition for each in self._columns.added]
            parts += [f"{kind} ({quoted(column)}{keys})" for kind, column in self.inline]
        self._edits.replace((begin, end), ", ".join(parts))
        return bool(kept)

    def _two_names(self, start: int, *, defines: bool) -> bool:
        """CHANGE old new definition, RENAME COLUMN old TO new."""
        cursor = self._cursor
        cursor.accept("COLUMN")
        cursor.accept("IF", "EXISTS")
        kept = self._own_name(defines=defines)
        if not defines:
            cursor.expect("TO")
        if self._own_name(defines=defines) != kept:
            raise NoRewrite("the new name of a column changes whether transforms.columns exclude it", _BY_HAND)
        return self._rest(start, kept)

    def _drop(self, start: int) -> bool:
        cursor = self._cursor
        others = ("PRIMARY", "INDEX", "KEY", "FOREIGN", "CHECK", "CONSTRAINT", "PARTITION", "SYSTEM", "PERIOD")
        if cursor.word() in others:
            return self._rest(start, kept=True)
        cursor.accept("COLUMN")
        cursor.accept("IF", "EXISTS")
        return self._rest(start, self._own_name(defines=False))
