"""Decisions depend on an error's class and code, never on its text: a reworded message must not change behaviour."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).parents[2]
PACKAGES = ("replicator", "core", "server", "monitor")
ERROR_NAMES = {"error", "cause", "failure", "exception", "err", "exc", "e", "refused", "problem"}
TEXT_FIELDS = {"what", "found", "wanted", "fix"}
LOOKS = {"startswith", "endswith", "search", "match", "fullmatch", "find", "index", "count"}
ALLOWED = {
    # kafka-python's plain producer, the oracle of tests, reports a broker's error to a transactional request as text
    # with the protocol's number. Our own client keeps the error's class.
    "replicator/sink/kafka/errors.py": {"_WIRE_ERROR.search(str(error))", "_BROKERS_WORDS.search(str(error))"},
}


def decisions(source: str) -> Iterator[tuple[int, str]]:
    """(line, expression) of each comparison or search in the text of an error."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS:
            operands = [node.func.value, *node.args]
        else:
            continue
        if any(_is_text(each) for each in operands):
            yield node.lineno, ast.unparse(node)


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        called = isinstance(node.func, ast.Name) and node.func.id in ("str", "repr") and len(node.args) == 1
        if isinstance(node.func, ast.Attribute):  # str(error).lower()
            return _is_text(node.func.value)
        return called and isinstance(node.args[0], ast.Name) and node.args[0].id in ERROR_NAMES
    if isinstance(node, ast.Attribute) and node.attr in TEXT_FIELDS:
        return isinstance(node.value, ast.Name) and node.value.id in ERROR_NAMES
    return False


def test_no_decision_looks_at_an_errors_text():
    found = []
    for package in PACKAGES:
        for path in sorted((TREE / package).rglob("*.py")):
            name = path.relative_to(TREE).as_posix()
            allowed = ALLOWED.get(name, set())
            found += [f"{name}:{line}: {text}" for line, text in decisions(path.read_text()) if text not in allowed]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "'move back' in error.what",
        "'gone' in str(error)",
        "'gone' in str(error).lower()",
        "error.found == 'none'",
        "PATTERN.search(str(cause))",
        "str(error).startswith('x')",
    ],
)
def test_the_scan_sees_a_planted_decision(line):
    assert [text for _, text in decisions(line)] == [line]


@pytest.mark.parametrize("line", ["error.code == 'E4012'", "isinstance(error, OSError)", "x.found in y"])
def test_the_scan_lets_classes_and_codes_pass(line):
    assert list(decisions(line)) == []
