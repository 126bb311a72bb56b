"""What an operator does wrong, or what happens to him, and words that the remedy has to contain.

Each situation is brought about in the code that an operator meets, not by the code's default alone.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from replicator.cli import check as check_command
from replicator.cli.task.client import Client, find_token
from replicator.codes import CODES
from replicator.config.load import load_task, parse_task
from replicator.config.secrets import resolve
from replicator.config.text import parse
from replicator.coordination.records import CommitRecord, MachineRecord, TaskRecord, load
from replicator.coordination.tasks.position_changes import moment
from replicator.coordination.tasks.skips import skip
from replicator.errors import NotConnected, ReplicatorError, SessionLost
from replicator.host import access
from replicator.model import quarantine_orders
from replicator.model.checkpoint import Checkpoint
from replicator.model.gtid import GtidSet
from replicator.model.position import Position
from replicator.sink.kafka import errors as kafka_errors
from replicator.telemetry import hosts
from replicator.telemetry.http import parse_listen
from server import error_responses

GTID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
FAILED = {"code": "E2307", "what": "a value", "found": "", "transaction": f"{GTID}:7"}
TASK = """
name: copy
source: {type: mysql, host: db1, user: replicator, password: "env:REPL_PASSWORD", tables: [%s]}
sink: {type: kafka, bootstrap_servers: ["k1:9092"]}
"""


def of_a_core(call: Callable[[], object]) -> Callable[[], object]:
    def inside() -> object:
        access.name_process("the Core host-a")
        return call()

    return inside


def skipped(transaction: str, error: dict[str, str] | None = FAILED) -> Callable[[], object]:
    before = Checkpoint(Position("binlog.000001", 4, gtid=f"{GTID}:1-6"))
    return lambda: skip("copy", before, error, transaction, False)


def unread(path: str) -> Callable[[], object]:
    return lambda: check_command._read(Path(path))


SITUATIONS: dict[str, tuple[Callable[[], object], str, str]] = {
    "a pattern that begins with * without quotes": (lambda: load_task(TASK % "*shop"), "E1001", "quotes '*.orders'"),
    "the same with a point": (lambda: load_task(TASK % "*.orders"), "E1001", "quotes '*.orders'"),
    "an anchor": (lambda: parse("a: &b c\n"), "E1001", "quotes"),
    "a tab": (lambda: parse("a:\n\tb: 1\n"), "E1001", "blanks instead of tabs"),
    "a password that begins with @": (lambda: parse("a: @b\n"), "E1001", "quotes"),
    "a password that begins with !": (lambda: parse("a: !b\n"), "E1001", "quotes"),
    "a colon in a value": (lambda: parse("a: b: c\n"), "E1001", "': ' quotes indentation"),
    "a bracket that is not closed": (lambda: parse("a: [1\n"), "E1001", "syntax line shown"),
    "a key twice in JSON": (lambda: parse('{"a": 1, "a": 2}'), "E1001", "Remove 'a'"),
    "a file in Latin 1": (lambda: parse(b"a: \xe4\n"), "E1001", "UTF-8"),
    "a file that is not there": (unread("/no/such/file.yaml"), "E1014", "path -f"),
    "a directory as file": (unread("/"), "E1014", "path -f"),
    "nested too deeply": (lambda: parse("[" * 30), "E1008", "levels"),
    "a misspelled key": (lambda: load_task((TASK % "a.b").replace("host:", "hots:")), "E1002", "host"),
    "a configuration of several tasks in a list": (lambda: parse_task([]), "E1003", "replicator explain task"),
    "a password in the configuration": (
        lambda: load_task((TASK % "a.b").replace("env:REPL_PASSWORD", "secret")),
        "E1005",
        "env:NAME file:/path",
    ),
    "a variable that is missing in a shell": (
        lambda: resolve("env:REPL_NONE"),
        "E1006",
        f"export REPL_NONE= shell this command {socket.gethostname()}",
    ),
    "a variable that is missing in a Core": (
        of_a_core(lambda: resolve("env:REPL_NONE")),
        "E1006",
        f"Set REPL_NONE the Core host-a {socket.gethostname()} EnvironmentFile restart",
    ),
    "a secret's file that is missing in a Core": (
        of_a_core(lambda: resolve("file:/etc/mysql-replicator/secrets/none-of-this-name")),
        "E1006",
        "Create user the Core host-a `replicator task retry NAME`",
    ),
    "a variable that a Core may not read": (
        of_a_core(lambda: resolve("env:HOME")),
        "E1012",
        "start the Core host-a --secrets-env-prefix",
    ),
    "a file that a command may not read": (
        lambda: resolve("file:/etc/passwd"),
        "E1012",
        "start this command --secrets-directory",
    ),
    "a token file that is not there": (
        lambda: find_token(Path("/no/such/token"), "http://127.0.0.1:1"),
        "E1006",
        "--token-file REPLICATOR_TOKEN_FILE the Server's log",
    ),
    "a GTID set that is none": (lambda: GtidSet.parse("foo"), "E2209", "`replicator task position set NAME`"),
    "skip of a transaction that is none": (skipped("foo"), "E5016", "`replicator task skip NAME --dry-run`"),
    "skip of another transaction": (skipped(f"{GTID}:8"), "E5016", "`replicator task skip NAME --dry-run`"),
    "skip after an error without a transaction": (
        skipped("", {"code": "E2101", "what": "x"}),
        "E5016",
        "cause `replicator task describe copy`",
    ),
    "a time that is none": (lambda: moment("yesterday"), "E5007", "`replicator task position history NAME`"),
    "quarantine of a pattern": (
        lambda: quarantine_orders.check_name("shop.*"),
        "E1003",
        "`replicator task schema NAME`",
    ),
    "an address to listen on without a port": (lambda: parse_listen("bus"), "E5012", "--listen HOST:PORT"),
    "a URL as allowed host": (
        lambda: hosts.names("127.0.0.1", "127.0.0.1", ["http://bus/"]),
        "E5012",
        "--allowed-host bus.example.com",
    ),
    "a Server that does not run": (
        lambda: Client("http://127.0.0.1:1", "x" * 20).tasks(),
        "E5005",
        "Server runs --server REPLICATOR_SERVER",
    ),
    "a broken configuration in ZooKeeper": (
        lambda: load(TaskRecord, b"{", "/tasks/a"),
        "E4009",
        "`replicator task apply -f FILE`",
    ),
    "a broken lastCommit": (lambda: load(CommitRecord, b"{", "/tasks/a/lastCommit"), "E4009", "source.start"),
    "a broken machine": (lambda: load(MachineRecord, b"{", "/machines/a"), "E4009", "Restart the Core"),
    "a record of a newer version": (lambda: load(TaskRecord, b'{"v": 99}', "/tasks/a"), "E4010", "Upgrade"),
    "a record that the broker refuses": (
        lambda: _raise(kafka_errors.translate(cast(Any, _too_large()), "x")),
        "E3102",
        "max.message.bytes lower `sink.max_record_bytes` `replicator task retry NAME`",
    ),
}


def _too_large() -> Exception:
    from kafka.errors import MessageSizeTooLargeError

    return MessageSizeTooLargeError("too large")


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(("act", "code", "words"), SITUATIONS.values(), ids=SITUATIONS)
def test_the_remedy_fits(act: Callable[[], object], code: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.PROCESS, "x")  # so that it is put back
    for name in (access.PROCESS, access.SECRETS_ENV_PREFIX, access.SECRETS_DIRECTORY):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ReplicatorError) as caught:
        act()
    error = getattr(caught.value, "errors", None) or [caught.value]
    assert error[0].code == code, str(caught.value)
    missing = [word for word in _words(words) if word not in error[0].fix]
    assert not missing, error[0].fix


def _words(text: str) -> list[str]:
    """Words, and what is in back quotes as one."""
    return [part.strip("`") if part.startswith("`replicator") else part for part in re.findall(r"`[^`]+`|\S+", text)]


@pytest.mark.parametrize(
    ("code", "words", "never"),
    [
        ("E1008", "Shorten", ""),
        ("E1009", "former value", ""),
        ("E2101", "account host", ""),
        ("E2202", "SET GLOBAL configuration file", "PERSIST"),  # MariaDB has no PERSIST
        ("E2203", "SET GLOBAL configuration file", "PERSIST"),
        ("E2208", "binlog_expire_logs_seconds expire_logs_days", "PERSIST"),
        ("E2209", "`replicator task position set NAME`", "Check `source.start`"),
        ("E2210", "OFF_PERMISSIVE", "PERSIST"),
        ("E2302", "mysqlbinlog `replicator task snapshot start NAME --table DATABASE.TABLE`", ""),
        ("E2305", "`replicator task position set NAME` `replicator task retry NAME`", ""),
        ("E3101", "`replicator task retry NAME`", ""),
        ("E3403", "account host", ""),
        ("E4001", "majority --zookeeper", ""),
        ("E4002", "`replicator task describe NAME` repeat", "None required"),
        ("E4007", "`replicator cluster secure`", "setAcl"),
        ("E4009", "`replicator task apply -f FILE`", ""),
        ("E5006", "--token-file REPLICATOR_TOKEN", ""),
        ("E5009", "`replicator task describe NAME`", ""),
    ],
)
def test_defaults_fit(code: str, words: str, never: str) -> None:
    remedy = CODES[code].remedy
    assert [word for word in _words(words) if word not in remedy] == []
    assert not never or never not in remedy


def test_every_code_has_a_remedy_that_is_more_than_a_hint_at_the_message() -> None:
    vague = re.compile(r"(See|Check) (it|the message|its message)?\.?$|See the message|^Remove it|^Add it|as shown\.$")
    kept = {"E1004", "E3105"}  # `wanted` has the key or the setting itself
    assert [code for code, entry in CODES.items() if not entry.remedy.strip()] == []
    assert [code for code, entry in CODES.items() if vague.search(entry.remedy) and code not in kept] == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("error", [NotConnected("E4002", "no answer"), SessionLost("E4003", "ended")])
def test_a_command_whose_outcome_is_unknown(method: str, error: NotConnected) -> None:
    fix = error_responses._for_people(error, method).fix
    assert "not known whether" in fix and "`replicator task describe NAME`" in fix and "Repeat" in fix
    assert "Check that ZooKeeper runs" in error_responses._for_people(error, "GET").fix


def test_a_command_without_zookeeper_is_refused_before_anything() -> None:
    from replicator.coordination.ports import Connection

    def request(method: str, state: Connection) -> Any:
        coordinator = SimpleNamespace(connection=state)
        return SimpleNamespace(method=method, app=SimpleNamespace(state=SimpleNamespace(coordinator=coordinator)))

    error_responses.require_connection(request("GET", Connection.LOST))
    error_responses.require_connection(request("POST", Connection.CONNECTED))
    with pytest.raises(NotConnected) as caught:
        error_responses.require_connection(request("POST", Connection.SUSPENDED))
    assert caught.value.code == "E4001"
    assert "was not carried out, and nothing was changed" in caught.value.what and "repeat" in caught.value.fix
