"""The product uses kafka-python by its public interface alone: no private name, no module of its insides, no class of
it that is derived from or replaced."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.paths import TREE

PUBLIC = frozenset(("kafka", "kafka.admin", "kafka.errors", "kafka.structs"))
DOCUMENTED = {("kafka.net.sasl.oauth", "AbstractTokenProvider"), ("kafka.net", "KafkaNetSocket")}
"""What the library's own documentation of its options tells to import and derive from, and what it exports to be
derived from: `kafka.net.__all__` has KafkaNetSocket, whose subclasses register the schemes of `proxy_url`."""

PACKAGES = ("replicator", "core", "server", "monitor")
CLIENTS = ("replicator/kafka", "replicator/sink/kafka")
"""Where its objects are held. In these packages nobody reaches into anybody's private parts."""


def files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((TREE / package).rglob("*.py"))]


def faults(path: str, source: str) -> Iterator[str]:
    """What is wrong in a file, as `path:line: what`."""
    inside = path.startswith(CLIENTS)
    if not inside and "kafka" not in source:
        return
    tree = list(ast.walk(ast.parse(source)))
    theirs: set[str] = set()
    for node in tree:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for module, name, known_as in _imports(node):
            if module not in PUBLIC and (module, name) not in DOCUMENTED:
                yield f"{path}:{node.lineno}: {module} is no public module"
            if (module, name) not in DOCUMENTED:
                theirs.add(known_as)
            if name.startswith("_"):
                yield f"{path}:{node.lineno}: {name} is private"
    for node in tree:
        if inside and isinstance(node, ast.Attribute) and _is_private(node.attr) and not _is_own(node.value):
            yield f"{path}:{node.lineno}: .{node.attr} is private"
        if (
            inside
            and isinstance(node, ast.Call)
            and _name_of(node.func) in ("getattr", "setattr", "delattr", "attrgetter")
        ):
            for each in node.args:
                if isinstance(each, ast.Constant) and any(map(_is_private, str(each.value).split("."))):
                    yield f"{path}:{node.lineno}: {each.value!r} is private"
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                if _root(base) in theirs and not _is_error(base):
                    yield f"{path}:{node.lineno}: {node.name} derives from a class of the library"
        for target in _targets(node):
            if inside and isinstance(target, ast.Attribute) and target.attr == "__class__":
                yield f"{path}:{target.lineno}: a class is swapped"
            if isinstance(target, ast.Attribute) and _root(target) in theirs:
                yield f"{path}:{target.lineno}: {target.attr} of the library is replaced"


def _imports(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Module, name in it ("" for itself) and the name that it gets here, of imports of kafka-python."""
    if isinstance(node, ast.Import):
        for each in node.names:
            if each.name.split(".")[0] == "kafka":
                yield each.name, "", each.asname or "kafka"
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "kafka":
        for each in node.names:
            yield node.module or "", each.name, each.asname or each.name


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _is_error(base: ast.expr) -> bool:
    return (_name_of(base) or "").endswith("Error")


def _name_of(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else []


def test_the_library_is_used_by_its_public_interface() -> None:
    found = [fault for path in files() for fault in faults(str(path.relative_to(TREE)), path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "from kafka.net.connection import KafkaConnection",
        "import kafka.producer.sender",
        "from kafka.admin import _acls",
        "from kafka import KafkaAdminClient\nclass Admin(KafkaAdminClient): pass",
        "from kafka import KafkaProducer\nKafkaProducer.send = None",
        "def f(producer): return producer._sender",
        "def f(self): return self._producer._sender",
        "def f(connection): connection.__class__ = str",
        "def f(producer): return getattr(producer, '_sender')",
        "from operator import attrgetter\nread = attrgetter('_sender._client')",
    ],
)
def test_the_scan_sees(source: str) -> None:
    assert list(faults("replicator/sink/kafka/x.py", source))


@pytest.mark.parametrize(
    "source",
    [
        "from kafka import KafkaAdminClient\nfrom kafka.errors import KafkaError",
        "from kafka.net.sasl.oauth import AbstractTokenProvider\nclass Provider(AbstractTokenProvider): pass",
        "class A:\n    def f(self): return self._x",
        "from kafka.errors import KafkaError\nclass OursError(KafkaError): pass",
    ],
)
def test_the_scan_lets_pass(source: str) -> None:
    assert not list(faults("replicator/kafka/x.py", source))
