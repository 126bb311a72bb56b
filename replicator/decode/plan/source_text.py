"""Builder of generated functions: source lines, expressions as syntax trees, objects as globals.

Expressions of renderers are not pasted as text: quotes within quotes and names would collide. They stand in the source
as placeholder names, and the tree is completed before it is compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeAlias

from replicator.decode.renderers.contract import Rendering
from replicator.model.plan import Var

Part: TypeAlias = "str | ast.expr"
"""A piece of an output text: a literal, or an expression that gives str (or int, formatted in decimal)."""


class SourceText:
    """Collects one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 0
        self._globals: dict[str, Any] = {}
        self._trees: dict[str, ast.expr] = {}
        self._counter = 0

    def line(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    def fresh(self, prefix: str) -> str:
        """A name that nothing else has; names of renderers have no leading underscore."""
        self._counter += 1
        return f"_{prefix}{self._counter}"

    def bind(self, prefix: str, value: Any) -> str:
        """The name of a new global."""
        name = self.fresh(prefix)
        self._globals[name] = value
        return name

    def tree(self, node: ast.expr) -> str:
        """A placeholder for `node`, to be used in a line."""
        name = self.fresh("tree")
        self._trees[name] = node
        return name

    def rendered(self, rendering: Rendering, variable: str) -> list[Part]:
        """The rendering's expression over `variable`, as parts of an f-string."""
        renames = {"v": variable}
        for name, value in rendering.names.items():
            if self._globals.get(name, value) is value:
                self._globals[name] = value
            else:
                renames[name] = self.bind("name", value)
        tree = _Rename(renames).visit(ast.parse(rendering.expression.strip(), mode="eval")).body
        if isinstance(tree, ast.JoinedStr):
            return [_part(node) for node in tree.values]
        return [tree]

    def function(self, name: str) -> Callable[..., Any]:
        """Compiles what was collected and gives its function `name`."""
        module = _Complete(self._trees).visit(ast.parse("\n".join(self.lines)))
        code = compile(ast.fix_missing_locations(module), f"<generated {name}>", "exec")
        exec(code, self._globals)  # noqa: S102 made from type numbers and renderers, never from names or data as code
        function: Callable[..., Any] = self._globals[name]
        return function


def variable(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def latin1(text: str) -> str:
    """The UTF-8 bytes of `text` as latin-1."""
    return text.encode().decode("latin-1")


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def printed(step: Var, value: str) -> ast.expr:
    """The text for a variable, of whose value `value` is the expression."""
    if step.before is None:
        return expression(value)
    return expression(f"'' if {value} == 'null' else {latin1(step.before)!r} + str({value})")


def joined(parts: list[Part]) -> ast.expr:
    """An f-string of parts; literals next to each other become one."""
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    if all(isinstance(part, str) for part in merged):
        return ast.Constant("".join(part for part in merged if isinstance(part, str)))
    return ast.JoinedStr([_node(part) for part in merged])


def _node(part: Part) -> ast.expr:
    if isinstance(part, str):
        return ast.Constant(part)
    return part if isinstance(part, ast.FormattedValue) else ast.FormattedValue(part, -1)


def _part(node: ast.expr) -> Part:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else node


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)


class _Complete(ast.NodeTransformer):
    def __init__(self, trees: dict[str, ast.expr]) -> None:
        self._trees = trees

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._trees.get(node.id, node)
