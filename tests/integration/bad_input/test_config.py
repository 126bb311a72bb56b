"""Task files that can't be used: every problem is named at its place, and nothing is asked of any server."""

from __future__ import annotations

import pytest

from tests.integration.bad_input.command import Replicator

GOOD = """\
name: copy_hot_item
source:
  type: mysql
  port: 3306
  user: replicator
  password: env:REPL_PASSWORD
  tables: ["shop.*"]
sink:
  type: stdout
"""


@pytest.mark.parametrize(
    ("good", "bad", "code", "words"),
    [
        ('["shop.*"]', '["shop.*"', "E1001", ["line 8"]),
        ("  user:", "\tuser:", "E1001", ["line 5"]),
        ("  tables:", "  tabels:", "E1002", ["source.tabels", "line 7", "Fix: Write tables"]),
        ("sink:\n", "snik:\n", "E1002", ["snik", "line 8", "Fix: Write sink"]),
        ("3306", "lots", "E1003", ["source.port", "'lots'"]),
        ("3306", "70000", "E1003", ["source.port", "70000", "65535"]),
        ("  user: replicator\n", "", "E1004", ["source.user"]),
        ("env:REPL_PASSWORD", "s3cret", "E1005", ["source.password", "env:"]),
    ],
)
def test_a_task_file(replicator: Replicator, good: str, bad: str, code: str, words: list[str]) -> None:
    assert good in GOOD
    (replicator.folder / "task.yaml").write_text(GOOD.replace(good, bad))
    ended = replicator("check", "-f", "task.yaml")
    line = next(line for line in ended.errors if line.startswith(code))
    assert ended.status == 1
    for word in words:
        assert word in line, line
    assert "Fix: " in line
    assert "s3cret" not in ended.err


def test_several_problems_are_told_at_once(replicator: Replicator) -> None:
    text = GOOD.replace("3306", "lots").replace("tables", "tabels").replace("stdout", "stdin")
    (replicator.folder / "task.yaml").write_text(text)
    ended = replicator("run", "-f", "task.yaml")
    assert ended.status == 1
    assert {line[:5] for line in ended.errors} == {"E1002", "E1003"}
    assert len(ended.errors) == 3


def test_no_such_file(replicator: Replicator) -> None:
    replicator("run", "-f", "nowhere.yaml").refused("E1014", "nowhere.yaml", "No such file")


def test_a_secret_that_is_nowhere(replicator: Replicator) -> None:
    (replicator.folder / "task.yaml").write_text(GOOD.replace("REPL_PASSWORD", "REPL_NO_SUCH_NAME"))
    replicator("run", "-f", "task.yaml").refused("E1006", "REPL_NO_SUCH_NAME", "Fix: export REPL_NO_SUCH_NAME=")
    checked = replicator("check", "-f", "task.yaml")
    assert checked.status == 11
    assert "REPL_NO_SUCH_NAME" in checked.out


@pytest.mark.parametrize("command", ["run", "check"])
def test_secrets_that_tasks_may_not_read(replicator: Replicator, command: str) -> None:
    """Neither the variable nor the file is read, and the option that allows it is named."""
    (replicator.folder / "secret").write_text("s3cret")
    replicator.environment["DATABASE_URL"] = "mysql://u:s3cret@db"
    for reference, option in (
        ("env:DATABASE_URL", "--secrets-env-prefix"),
        ("env:NOT_EVEN_SET", "--secrets-env-prefix"),
        (f"file:{replicator.folder}/secret", "--secrets-directory"),
        ("file:/etc/passwd", "--secrets-directory"),
    ):
        (replicator.folder / "task.yaml").write_text(GOOD.replace("env:REPL_PASSWORD", reference))
        ended = replicator(command, "-f", "task.yaml")
        said = ended.err + ended.out
        assert ended.status != 0 and "E1012" in said and option in said, said
        assert "s3cret" not in said and "root:" not in said
