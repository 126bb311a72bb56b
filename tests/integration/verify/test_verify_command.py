"""The command `replicator verify`: exit statuses, output, interruption and resumption."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dev.servers import MySQL
from replicator.cli.verify_output import NoLine
from replicator.config.load import to_data
from replicator.errors import ProcessError
from replicator.verify.verifier import Options
from tests.support.verified import Pair, pair, summary, verify


@pytest.fixture
def two(mysql: MySQL) -> Iterator[Pair]:
    with pair(mysql, mysql) as made:
        yield made


def command(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-m", "replicator.cli.main", "verify", "-f", str(file), *arguments]
    return subprocess.run(given, capture_output=True, text=True, timeout=60, check=False)


def test_exit_status_and_output(two: Pair, tmp_path: Path) -> None:
    two.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,1),(2,2),(3,3)")
    file = tmp_path / "task.yaml"
    file.write_text(yaml.safe_dump(to_data(two.config())))
    equal = command(file)
    assert (equal.returncode, equal.stderr) == (0, ""), equal
    assert equal.stdout.splitlines()[1].split()[:2] == [f"{two.database}.t", "3"]
    assert equal.stdout.splitlines()[1].endswith("equal")
    two.there("UPDATE t SET v = 9 WHERE id = 2", "DELETE FROM t WHERE id = 3")
    differs = command(file, "-o", "json")
    document = json.loads(differs.stdout)
    assert (differs.returncode, document["kind"], document["result"]) == (1, "VerifyResult", "differs")
    (table,) = document["tables"]
    assert (table["missing"], table["different"], table["rows"]) == (1, 1, 3)
    assert {"verdict": "different", "key": {"id": "2"}, "columns": ["v"]} in table["samples"]
    text = command(file).stdout
    assert f"{two.database}.t -> {two.other}.t: row id 2: different in v" in text
    none = command(file, "--table", "nowhere.*")
    assert (none.returncode, none.stdout) == (2, "") and "E5032" in none.stderr
    missing = command(tmp_path / "none.yaml")
    assert missing.returncode == 2 and "E1014" in missing.stderr


def test_other_sinks_are_refused(two: Pair, tmp_path: Path) -> None:
    data = to_data(two.config())
    file = tmp_path / "task.yaml"
    file.write_text(yaml.safe_dump({**data, "sink": {"type": "stdout"}}))
    refused = command(file)
    assert refused.returncode == 2 and "E5032" in refused.stderr


class _Interrupt(NoLine):
    """Stops the command after some rows."""

    def __init__(self, after: int) -> None:
        self.after, self.seen = after, 0

    def rows(self, rows: int) -> None:
        self.seen = rows
        if rows >= self.after:
            raise KeyboardInterrupt


def test_an_interrupted_verification_continues(two: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replicator.verify.verifier._SAVE_S", 0.0)
    state = tmp_path / "state"
    for table in "ab":
        two.both(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT)")
        two.both(f"INSERT INTO {table} VALUES " + ",".join(f"({n},{n})" for n in range(1000)))
    two.there("DELETE FROM a WHERE id = 5", "UPDATE b SET v = -1 WHERE id = 10", "UPDATE b SET v = -1 WHERE id = 990")
    config, slow = two.config(), Options(max_rows_per_s=100_000_000)
    monkeypatch.setattr("replicator.verify.verifier._MOST_ROWS", 100)
    monkeypatch.setattr("replicator.verify.verifier.BATCH", 1)
    with pytest.raises(KeyboardInterrupt):
        verify(config, options=slow, state=state, observer=_Interrupt(1500))
    kept = json.loads(state.read_text())
    assert [each["table"] for each in kept["finished"]] == [f"{two.database}.a"]
    assert kept["open"]["done"] == ["399"]
    two.there("UPDATE b SET v = -1 WHERE id = 20")  # behind: not looked at again
    counted = _Interrupt(10**9)
    found = verify(config, options=slow, state=state, observer=counted)
    assert (summary(found["a"]), summary(found["b"])) == (("differs", 1, 0, 0), ("differs", 0, 0, 2))
    assert (found["b"].rows, counted.seen, state.exists()) == (1000, 2000, False)
    with pytest.raises(KeyboardInterrupt):
        verify(config, options=slow, state=state, observer=_Interrupt(1500))
    with pytest.raises(ProcessError) as raised:
        verify(config, f"{two.database}.b", state=state)
    assert raised.value.code == "E5033"
    with pytest.raises(KeyboardInterrupt):
        state.unlink()
        verify(config, options=slow, state=state, observer=_Interrupt(1500))
    two.both("ALTER TABLE b DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)")  # the bounds mean nothing now
    assert verify(config, options=slow, state=state)["b"].rows == 1000


def test_tables_that_are_altered_are_begun_again(two: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replicator.verify.verifier._MOST_ROWS", 100)
    two.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    two.both("INSERT INTO t VALUES " + ",".join(f"({n},{n})" for n in range(1000)))

    class Alter(NoLine):
        done = False

        def rows(self, rows: int) -> None:
            if not self.done and rows >= 300:
                self.done = True
                two.both("ALTER TABLE t CHANGE v w BIGINT")

    found = verify(two.config(), observer=Alter())["t"]
    assert (summary(found), found.rows) == (("equal", 0, 0, 0), 1000)


def test_lost_connections_are_made_again(two: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replicator.verify.verifier._MOST_ROWS", 100)
    two.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    two.both("INSERT INTO t VALUES " + ",".join(f"({n},{n})" for n in range(1000)))

    class Kill(NoLine):
        done = False

        def rows(self, rows: int) -> None:
            if not self.done and rows >= 300:
                self.done = True
                for (number,) in two.source.execute(
                    "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'replicator'"
                ):
                    two.source.execute(f"KILL {number}")

    found = verify(two.config(), observer=Kill())["t"]
    assert (summary(found), found.rows) == (("equal", 0, 0, 0), 1000)


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
def test_rows_are_read_as_slowly_as_is_wanted(two: Pair, key: str) -> None:
    two.both(f"CREATE TABLE t (id INT {key}, v INT)")
    two.both("INSERT INTO t VALUES " + ",".join(f"({n},{n})" for n in range(3000)))
    begun = time.monotonic()
    assert verify(two.config(), options=Options(max_rows_per_s=2000))["t"].result == "equal"
    assert 0.9 < time.monotonic() - begun < 30


def test_continuous_shows_changes_and_ends_with_a_signal(two: Pair, tmp_path: Path) -> None:
    two.both("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1)", "CREATE TABLE b (id INT PRIMARY KEY)")
    file = tmp_path / "task.yaml"
    file.write_text(yaml.safe_dump(to_data(two.config())))
    given = [sys.executable, "-m", "replicator.cli.main", "verify", "-f", str(file)]
    given += ["--continuous", "--pause", "0.1", "-o", "json", "--state", str(tmp_path / "state")]
    with subprocess.Popen(given, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert {each["table"].partition(".")[2]: each["result"] for each in first["tables"]} == {
            "a": "equal",
            "b": "equal",
        }
        two.there("DELETE FROM a")
        second = json.loads(process.stdout.readline())
        (changed,) = second["tables"]
        assert (changed["result"], changed["missing"], second["kind"]) == ("differs", 1, "VerifyResult")
        process.terminate()
        assert process.wait(20) == 1
    refused = command(file, "--continuous", "--repair")
    assert refused.returncode == 2 and "--continuous" in refused.stderr
