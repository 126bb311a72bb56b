"""The Kafka sinks through TLS and logins, and what they say where they are not let in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dev.servers.authority import Authority
from replicator.assembly.expiry_checks import check_expiry
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError, SinkUnavailable
from replicator.sink import open_sink
from replicator.sink.kafka import connect
from replicator.sink.kafka.checks import check
from tests.conformance.sinks import at, batch
from tests.servers import started
from tests.support.consume import read_all
from tests.support.numbered import DELIVERIES, config, term
from tests.support.secure_kafka import PASSWORD, SESSION_MS, USER, SecureKafka

pytestmark = pytest.mark.servers

_DAYS = 13


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "ours")


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Iterator[SecureKafka]:
    certificate, key = authority.leaf("127.0.0.1", timedelta(days=_DAYS, hours=1))
    server = started(SecureKafka(authority, certificate.read_bytes(), key.read_bytes()))
    yield server
    server.close()


@pytest.fixture
def ways(authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """What a task says to get in, by name and listener."""
    token = tmp_path / "token"
    token.write_text(SecureKafka.token() + "\n")
    monkeypatch.setenv("OF_THE_BUS", PASSWORD)
    certificate, key = authority.leaf("192.0.2.7")
    tls = {"ca": str(authority.ca)}

    def login(mechanism: str) -> dict[str, str]:
        return {"mechanism": mechanism, "user": USER, "password": "env:OF_THE_BUS"}

    return {
        "PLAIN": {},
        "TLS": {"tls": tls},
        "TLS insecure": {"tls": {"insecure": True}},
        "MUTUAL": {"tls": {**tls, "cert": str(certificate), "key": str(key)}},
        "LOGIN": {"sasl": login("SCRAM-SHA-256")},
        "BOTH SCRAM": {"tls": tls, "sasl": login("SCRAM-SHA-512")},
        "BOTH PLAIN": {"tls": tls, "sasl": login("PLAIN")},
        "TOKEN": {"tls": tls, "sasl": {"mechanism": "OAUTHBEARER", "token": f"file:{token}"}},
    }


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("way", ["TLS", "TLS insecure", "MUTUAL", "LOGIN", "BOTH SCRAM", "BOTH PLAIN", "TOKEN"])
def test_everything_arrives(broker: SecureKafka, ways: Any, way: str, delivery: str, task: str) -> None:
    """Also batches of many TLS records, and the position that the next term reads."""
    settings = config(broker.ways[way.split()[0]], delivery=delivery, **ways[way])
    topic = task + ".orders"
    sink: Any = open_sink(settings, task)
    sink.open(term(task))
    sizes = (10, 300_000, 900_000, 10)
    for number, size in enumerate(sizes):
        sink.write(batch(number, *[(topic, b"k", b"%d" % number + b"v" * size) for _ in range(3)]))
        sink.commit(at(number))
    sink.flush(20)
    sink.close()
    values = [record.value for record in read_all(broker.bootstrap, topic)]
    assert values == [b"%d" % number + b"v" * size for number, size in enumerate(sizes) for _ in range(3)]
    if delivery == "exactly_once":
        again = open_sink(settings, task)
        assert again.open(term(task)) == at(len(sizes) - 1)
        again.close()


@pytest.mark.parametrize(
    ("listener", "way", "changed", "code", "said"),
    [
        ("TLS", "PLAIN", {}, "E3110", "accepts only encrypted connections"),
        ("PLAIN", "TLS", {}, "E3110", "or remove `sink.tls`"),
        ("TLS", "TLS", {"tls": {}}, "E3110", "Set `sink.tls.ca`"),
        ("TLS", "TLS", {"tls": {"ca": "/no/such/file"}}, "E3110", "/no/such/file"),
        ("MUTUAL", "TLS", {}, "E3110", "Set `sink.tls.cert`"),
        ("BOTH", "TLS", {}, "E3103", "requires a login. Found: no sink.sasl. Wanted: one of "),
        ("LOGIN", "PLAIN", {}, "E3103", "Wanted: one of SCRAM-SHA-256"),
        ("BOTH", "LOGIN", {"tls": {"insecure": True}}, "E3103", "does not support logins by SCRAM-SHA-256"),
        ("LOGIN", "LOGIN", {"sasl.user": "stranger"}, "E3103", "refuses the login of 'stranger'. Found: "),
        ("BOTH", "BOTH PLAIN", {"sasl.user": "stranger"}, "E3103", "Correct `sink.sasl.user`"),
        ("PLAIN", "LOGIN", {}, "E3103", "does not support logins"),
        ("LOGIN", "LOGIN", {"sasl.password": "env:NOBODY_SET_THIS"}, "E1006", "NOBODY_SET_THIS"),
        ("TLS", "LOGIN", {}, "E3110", "accepts only encrypted connections"),
        ("TOKEN", "TOKEN", {"sasl.token": "env:OF_THE_BUS"}, "E3103", "does not accept the token"),
        ("TOKEN", "TOKEN", {"sasl.token": "file:/no/such/token"}, "E1006", "/no/such/token"),
        ("BOTH", "TOKEN", {}, "E3103", "does not support logins by OAUTHBEARER"),
    ],
)
def test_who_is_not_let_in_is_told_why(
    broker: SecureKafka,
    ways: Any,
    task: str,
    monkeypatch: pytest.MonkeyPatch,
    listener: str,
    way: str,
    changed: dict[str, Any],
    code: str,
    said: str,
) -> None:
    monkeypatch.setattr(connect, "BOOTSTRAP_SECONDS", 0.5)
    settings = {**ways[way]}
    for key, value in changed.items():
        part, _, name = key.partition(".")
        settings[part] = {**settings[part], name: value} if name else value
    sink = open_sink(config(broker.ways[listener], **settings), task)
    with pytest.raises(ReplicatorError) as caught:
        sink.open(term(task))
    sink.close()
    assert caught.value.code == code and said in str(caught.value), str(caught.value)
    assert not caught.value.transient and PASSWORD not in str(caught.value)


def test_a_session_goes_on_when_the_broker_wants_another_login(
    broker: SecureKafka, ways: Any, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each connection shows a token of a command, again and again, and nothing is sent twice or lost meanwhile."""
    folder = tmp_path / "commands"
    folder.mkdir()
    uses, command = tmp_path / "uses", folder / "token"
    command.write_text(f"#!/bin/sh\necho $1 >> {uses}\ncat {tmp_path / 'token'}\n")
    command.chmod(0o755)
    monkeypatch.setenv("REPLICATOR_COMMANDS_DIRECTORY", str(folder))
    sasl = {"mechanism": "OAUTHBEARER", "token_command": [str(command), "kafka"]}
    settings = config(broker.ways["TOKEN"], tls=ways["TLS"]["tls"], sasl=sasl)
    topic = task + ".orders"
    sink: Any = open_sink(settings, task)
    sink.open(term(task))
    before = len(uses.read_text().split())
    end = time.monotonic() + 2.5 * SESSION_MS / 1000
    number = 0
    while time.monotonic() < end:
        number += 1
        sink.write(batch(number, (topic, b"k", b"%d" % number)))
        sink.commit(at(number))
        time.sleep(0.02)
    sink.flush(20)
    sink.close()
    assert [record.value for record in read_all(broker.bootstrap, topic)] == [
        b"%d" % each for each in range(1, number + 1)
    ]
    assert set(uses.read_text().split()) == {"kafka"} and len(uses.read_text().split()) > before


def test_a_command_that_gives_no_token(
    broker: SecureKafka, ways: Any, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may next time; one that may not be run is an error at once."""
    monkeypatch.setattr(connect, "BOOTSTRAP_SECONDS", 0.5)
    monkeypatch.setenv("REPLICATOR_COMMANDS_DIRECTORY", "/usr/bin:/bin")

    def opened(*command: str) -> str:
        sasl = {"mechanism": "OAUTHBEARER", "token_command": command}
        sink = open_sink(config(broker.ways["TOKEN"], tls=ways["TLS"]["tls"], sasl=sasl), task)
        with pytest.raises(ReplicatorError) as caught:
            sink.open(term(task))
        return f"{caught.value.code} {caught.value.transient} {caught.value}"

    assert opened("/bin/false").startswith("E3001 True") and "status 1" in opened("/bin/false")
    assert opened(str(tmp_path / "token")).startswith("E1012 False")
    assert opened("/bin/no-such-program").startswith("E1006 False")


def test_a_certificate_for_another_name(broker: SecureKafka, ways: Any, task: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(connect, "BOOTSTRAP_SECONDS", 0.5)
    address = broker.ways["TLS"].replace("127.0.0.1", "localhost")
    sink = open_sink(config(address, **ways["TLS"]), task)
    with pytest.raises(ReplicatorError, match=r"E3110.*localhost.*bootstrap_servers"):
        sink.open(term(task))


def test_a_broker_that_is_away_is_tried_again(broker: SecureKafka, ways: Any, task: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(connect, "BOOTSTRAP_SECONDS", 0.5)
    with pytest.raises(SinkUnavailable, match="E3001"):
        open_sink(config("127.0.0.1:1", **ways["BOTH SCRAM"]), task).open(term(task))


def test_the_check_says_how_the_way_is(broker: SecureKafka, ways: Any, task: str) -> None:
    def said(way: str) -> dict[str, tuple[str, str]]:
        found = check(config(broker.ways[way.split()[0]], **ways[way]), task, [])
        return {each.id: (each.severity, each.found) for each in found}

    verified = said("BOTH SCRAM")
    assert verified["sink.tls"] == ("ok", "encrypted and verified")
    assert verified["sink.certificate"][0] == "warn" and f"{_DAYS}.0 days" in verified["sink.certificate"][1]
    assert verified["sink.transaction"][0] == "ok"
    assert said("TLS insecure")["sink.tls"][0] == "warn"
    assert said("LOGIN")["sink.tls"] == ("ok", "not encrypted, on this machine")


def test_the_brokers_certificate_is_looked_at_while_the_task_runs(
    broker: SecureKafka, ways: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    """The source does not answer: that is somebody else's matter."""
    monkeypatch.setenv("OF_THE_SOURCE", "x")
    task: dict[str, Any] = {
        "name": "t",
        "source": {"type": "mysql", "port": 1, "user": "u", "password": "env:OF_THE_SOURCE"},
        "sink": {"type": "kafka", "bootstrap_servers": [broker.ways["TLS"]], "tls": {"ca": ways["TLS"]["tls"]["ca"]}},
    }
    found = check_expiry(parse_task(task))
    assert found.certificate == ways["TLS"]["tls"]["ca"], "the authority's own ends first: within the hour"
    task["sink"]["tls"] = {"ca": str(_lasting(tmp_path, ways["TLS"]["tls"]["ca"]))}
    assert check_expiry(parse_task(task)).certificate == broker.ways["TLS"]


def _lasting(folder: Path, ca: str) -> Path:
    """The same authorities, and one that ends later: the last one counts."""
    long = Authority(folder, "long")
    certificate, _ = long.leaf("127.0.0.9", timedelta(days=90))
    both = folder / "both.pem"
    both.write_bytes(Path(ca).read_bytes() + certificate.read_bytes())
    return both
