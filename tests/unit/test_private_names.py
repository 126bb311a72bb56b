"""No private name of a library is read, set, called or replaced, in the product and in dev."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from dev.paths import TREE

PACKAGES: Final = ("replicator", "core", "server", "monitor", "dev")
OURS: Final = frozenset((*PACKAGES, "tests"))

DOCUMENTED: Final = frozenset(("_exit", "_asdict", "_fields", "_make", "_replace"))
"""Public in spite of their names: of `os`, and of named tuples."""

EXCEPTIONS: Final = {
    (
        "replicator/zookeeper/connection.py",
        "_call",
    ): "kazoo has no public way not to queue a request while it reconnects",
    ("replicator/zookeeper/connection.py", "_notify_pending"): "empties the queue: has to exclude `_call`",
}
"""(file, name) -> why there is no public way."""


def faults(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Line and name.

    A private name is ours where it is defined in the same file or, read from self or cls, in the same package. Those of
    a library's class that one of ours derives from are the library's even so.
    """
    tree = list(ast.walk(ast.parse(source)))
    here = defined(tree)
    known = here | _defined_in(path.split("/")[0])
    modules = _imported(tree)
    for node in tree:
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] not in OURS:
            yield from ((node.lineno, each.name) for each in node.names if is_private(each.name))
            yield from ((node.lineno, part) for part in (node.module or "").split(".") if is_private(part))
        elif isinstance(node, ast.Import) and node.names[0].name.split(".")[0] not in OURS:
            parts = [part for each in node.names for part in each.name.split(".")]
            yield from ((node.lineno, part) for part in parts if is_private(part))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if node.attr not in known or (not own and node.attr not in here):
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"):
                named = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
                yield from ((node.lineno, part) for text in named for part in text.split(".") if is_private(part))
        elif isinstance(node, ast.ClassDef):
            yield from _overridden(node, modules)


def _overridden(node: ast.ClassDef, modules: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Private methods and attributes of a library's class that a class of ours replaces."""
    bases = [base for base in (_resolved(each, modules) for each in node.bases) if base is not None]
    names = defined(list(ast.walk(node)))
    for name in sorted(names):
        if any(hasattr(base, name) for base in bases):
            yield node.lineno, name


def _resolved(base: ast.expr, modules: dict[str, str]) -> object | None:
    """The class of a library that `base` names."""
    text = ast.unparse(base).partition("[")[0]
    head, _, rest = text.partition(".")
    if head not in modules:
        return None
    found: object = import_module(modules[head].partition(":")[0])
    for part in filter(None, (*modules[head].partition(":")[2].split("."), *rest.split("."))):
        found = getattr(found, part)
    return found


def _imported(tree: list[ast.AST]) -> dict[str, str]:
    """Name in the file -> "module:name" or "module", of what is no module of ours and none of Python's."""
    found: dict[str, str] = {}
    for node in tree:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update({each.asname or each.name: f"{node.module}:{each.name}" for each in node.names})
        elif isinstance(node, ast.Import):
            found.update(
                (each.asname, each.name) if each.asname else (each.name.split(".")[0],) * 2 for each in node.names
            )
    return {
        name: module
        for name, module in found.items()
        if module.partition(":")[0].split(".")[0] not in OURS | sys.stdlib_module_names
    }


def defined(tree: list[ast.AST]) -> set[str]:
    """Private names that are given here: definitions, assignments, attributes of self, slots."""
    found: set[str] = set()
    for node in tree:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if node.value.id in ("self", "cls"):
                found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return {name for name in found if is_private(name)}


_KNOWN: dict[str, set[str]] = {}


def _defined_in(package: str) -> set[str]:
    if package not in _KNOWN:
        trees = (ast.walk(ast.parse(path.read_text())) for path in (TREE / package).rglob("*.py"))
        _KNOWN[package] = defined([node for tree in trees for node in tree])
    return _KNOWN[package]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED | {"_"}


def files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((TREE / package).rglob("*.py"))]


def test_libraries_are_used_by_their_public_names() -> None:
    found = {
        (name, what): line
        for path in files()
        for name in [str(path.relative_to(TREE))]
        for line, what in faults(name, path.read_text())
    }
    new = [f"{name}:{line}: {what}" for (name, what), line in found.items() if (name, what) not in EXCEPTIONS]
    assert not new, "\n".join(new)
    assert not EXCEPTIONS.keys() - found.keys(), "no longer used: take them out of EXCEPTIONS"


@pytest.mark.parametrize(
    "source",
    [
        "def f(connection): return connection._sock",
        "def f(connection): connection._rfile = None",
        "def f(connection): return connection._read_packet()",
        "from kazoo.protocol.connection import _CONNECTION_DROP",
        "import _socket",
        "from click._compat import strip_ansi",
        "def f(client): return getattr(client, '_queue')",
        "from operator import attrgetter\nread = attrgetter('_connection._socket')",
        "from kazoo.client import KazooClient\nclass Ours(KazooClient):\n    def _call(self): pass",
        "from kazoo.client import KazooClient\nclass Ours(KazooClient):\n    def f(self): self._of_theirs()",
        "import uvicorn\nclass Ours(uvicorn.Server):\n    def f(self): self._captured_signals.clear()",
        "import uvicorn\nclass Ours(uvicorn.Server):\n    async def _serve(self): pass",
    ],
)
def test_the_scan_sees(source: str) -> None:
    assert list(faults("replicator/x.py", source))


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos._exit(1)",
        "def f(place): return place._replace(line=1)",
        "class A:\n    def f(self): self._x = 1\n    def g(self, other): return other._x == self._x",
        "from kazoo.client import KazooClient\nclass Ours(KazooClient):\n    def f(self): self._of_ours = 1",
        "from replicator.model.gtid import _anything",
    ],
)
def test_the_scan_lets_pass(source: str) -> None:
    assert not list(faults("replicator/x.py", source))
