"""`replicator docs`: the pages, in a clone and in a built package, and every page that a message names."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.paths import TREE
from replicator.codes import CODES
from replicator.documentation import pages as docs_pages
from tests.unit.cli.conftest import Cli

PRODUCT = ("replicator", "core", "server", "monitor")


def test_lists_the_pages(cli: Cli) -> None:
    lines = cli("docs").stdout.splitlines()
    assert re.search(r"^operations +Operations$", "\n".join(lines), re.MULTILINE)
    assert {line.split()[0] for line in lines[1:]} >= {"errors", "tutorial", "alerts", "schema"}
    assert not any(line.startswith("README") for line in lines)


@pytest.mark.parametrize("name", ["operations", "docs/operations.md", "operations.md"])
def test_a_page_as_people_name_it(cli: Cli, name: str) -> None:
    assert cli("docs", name).stdout == (TREE / "docs/operations.md").read_text()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("prometheus-rules", "deploy/alerts.yaml"),
        ("deploy/mysql-replicator-core.service", "deploy/mysql-replicator-core.service"),
        ("task.schema.json", "docs/task.schema.json"),
        ("examples/changes_format.py", "docs/examples/changes_format.py"),
    ],
)
def test_other_files(cli: Cli, name: str, path: str) -> None:
    assert cli("docs", name).stdout == (TREE / path).read_text()
    assert cli("docs", name, "--path").stdout == f"{TREE / path}\n"


def test_paths(cli: Cli) -> None:
    assert cli("docs", "--path").stdout == f"{TREE / 'docs'}\n"


def test_a_section(cli: Cli) -> None:
    text = cli("docs", "operations", "zookeeper").stdout
    assert text.startswith("## When ZooKeeper is unavailable\n") and "\n## " not in text[3:]
    assert cli("docs", "snapshots", "Purged Positions").stdout.startswith("## Purged positions\n")
    assert cli("docs", "operations", "OPERATIONS").stdout == (TREE / "docs/operations.md").read_text()


def test_code_is_no_heading() -> None:
    text = "# A\n\n```sh\n# no heading\n```\n\n## B\n\nb\n\n### C\n\n## D\n"
    assert [(each.heading, len(each.lines)) for each in docs_pages.sections(text)] == [
        ("A", 13), ("B", 6), ("C", 2), ("D", 1)
    ]  # fmt: skip


def test_an_error_code(cli: Cli) -> None:
    text = cli("docs", "errors", "E2206").stdout
    assert text.startswith("E2206 source: position purged\n") and CODES["E2206"].remedy in text
    assert "replicator docs snapshots 'purged positions'" in text
    assert cli("docs", "e2206").stdout == text
    assert cli("docs", "errors").stdout == (TREE / "docs/errors.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("operatoins",), "Did you mean 'operations'?"),
        (("../pyproject.toml",), "No such page"),
        (("examples",), "No such page"),
        (("/etc/hostname",), "No such page"),
        (("errors", "E9999"), "No such code: E9999"),
        (("operations", "nonsense"), "  Setting a position\n"),
        (("prometheus-rules", "nonsense"), "No section"),
    ],
)
def test_what_does_not_exist_is_wrong_usage(cli: Cli, words: tuple[str, ...], said: str) -> None:
    result = cli("docs", *words)
    assert (result.exit_code, result.stdout) == (2, "") and said in result.stderr


def _strings(folder: str) -> Iterator[tuple[str, str]]:
    for path in sorted((TREE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(TREE)}:{node.lineno}", node.value


def test_every_page_that_a_text_names_can_be_printed(cli: Cli) -> None:
    texts = [each for folder in PRODUCT for each in _strings(folder)]
    texts += [(path.name, path.read_text()) for path in (TREE / "monitor/templates").glob("*.html")]
    texts += [(path.name, path.read_text()) for path in (TREE / "docs").glob("*.md")]
    texts += [("alerts.yaml", (TREE / "deploy/alerts.yaml").read_text())]
    commands = {
        (place, command)
        for place, text in texts
        for command in re.findall(r"(?:`|<code>)replicator docs ([^`<]+?)(?:`|</code>)", text)
    }
    assert len(commands) > 10
    for place, command in sorted(commands):
        command = command.partition(" >")[0]
        if "PAGE" not in command:
            assert cli("docs", *command.split()).exit_code == 0, (place, command)


def test_no_message_names_a_file_that_is_not_there() -> None:
    """An installation has no docs/ in its folder: texts name the command that prints the page."""
    named = [
        (place, text)
        for folder in PRODUCT
        for place, text in _strings(folder)
        if re.search(r"\bdocs/[a-z-]+\.(md|json|proto)|\bdeploy/[a-z-]+\.", text) and "\n\n" not in text
        if not place.startswith("replicator/documentation/pages.py") and len(text.split()) > 1
    ]
    docstrings = {"replicator/codes/__init__.py", "replicator/config/json_schema.py", "replicator/config/transforms.py"}
    assert {place.partition(":")[0] for place, _ in named} <= docstrings, named


def test_a_built_package_has_the_pages(tmp_path: Path) -> None:
    """As pip builds a wheel, without the compiled modules."""
    build = (
        "import sys; sys.modules['Cython.Build'] = None;"
        f"sys.argv = ['setup.py', '-q', 'build_py', '--build-lib', {str(tmp_path)!r}];"
        "exec(open('setup.py').read(), {'__file__': 'setup.py', '__name__': '__main__'})"
    )
    subprocess.run([sys.executable, "-c", build], cwd=TREE, check=True, capture_output=True)
    for folder in ("docs", "deploy"):
        built = {path.relative_to(tmp_path / "replicator") for path in (tmp_path / "replicator" / folder).rglob("*")}
        pages = {path.relative_to(TREE) for path in (TREE / folder).rglob("*") if "__pycache__" not in path.parts}
        assert built == pages
    run = "from replicator.cli.main import main; main()"
    shown = subprocess.run(
        [sys.executable, "-c", run, "docs", "prometheus-rules", "--path"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout == f"{tmp_path / 'replicator/deploy/alerts.yaml'}\n"
