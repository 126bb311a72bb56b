from __future__ import annotations

import click
import pytest

from replicator.cli.jsonpath import check, extracted

ANSWER = {
    "items": [
        {"name": "a", "state": "running", "labels": {"example.com/team": "x"}, "rows": 1},
        {"name": "b", "state": "failed", "labels": {}, "rows": None},
    ]
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("{.items[*].name}", "a b\n"), ("$.items[*].name", "a\nb\n"), ("items[*].name", "a\nb\n"),
        (".items[0].name", "a\n"),
        (r"{.items[0].labels.example\.com/team}", "x\n"), ("{.items[0].labels['example.com/team']}", "x\n"),
        ('{range .items[*]}{.name}{"\\t"}{.state}{"\\n"}{end}', "a\trunning\nb\tfailed\n"),
        ("{.items[?(@.state=='failed')].name}", "b\n"), ('{.items[?(@.state=="failed")].name}', "b\n"),
        ("{.items[-1:].name}", "b\n"), ("{..name}", "a b\n"), ("{.items[*].rows}", "1 null\n"), ("{.nothing}", ""),
        ("$.nothing", ""), ("found: {.items[*].name}", "found: a b\n"),
        ("{.items[0].labels}", '{"example.com/team": "x"}\n'),
    ],
)  # fmt: skip
def test_paths(path: str, text: str) -> None:
    check(f"jsonpath={path}")
    assert extracted(ANSWER, f"jsonpath={path}") == text


@pytest.mark.parametrize(
    "path",
    ["", " ", "{", "{.items[}", "{range .a}{.b}", "{end}", "items[", "{.a}}", '{"x}', "$..", "a b", "{.a[?(@.x==)]}"],
)
def test_refuses(path: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        check(f"jsonpath={path}")


@pytest.mark.parametrize("path", ["$.items[/rows].name", "{.items[?(@.name =~ '(')].name}"])
def test_a_path_that_does_not_fit_is_wrong_usage(path: str) -> None:
    with pytest.raises(click.UsageError, match="does not fit"):
        extracted({"items": [{"name": "a", "rows": 1}, {"name": "b", "rows": "x"}]}, f"jsonpath={path}")
