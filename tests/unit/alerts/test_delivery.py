"""Messages at real receivers: HTTP and SMTP, with TLS and login."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from email import message_from_string, policy
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from dev.servers.authority import Authority
from replicator.alerts.delivery import deliver
from replicator.alerts.grouping import Sent
from replicator.alerts.messages import LISTED, Message
from replicator.alerts.route import Email, Http, Kind, Route
from replicator.alerts.trial import trial
from replicator.errors import ProcessError
from replicator.host import access
from replicator.net import connections
from tests.support.receivers import Received, Smtp
from tests.unit.alerts.test_grouping import alert


@pytest.fixture
def http() -> Iterator[Received]:
    made = Received()
    yield made
    made.close()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "mail")


def message(**more: object) -> Message:
    values = {
        "key": "k1",
        "root": "/bus",
        "route": "r",
        "labels": {"rule": "Lag"},
        "firing": (alert("Lag", fired_ms=7),),
    }
    return Message(**{**values, "time_ms": 1_764_081_600_000, "monitor": "https://m:1", **more})  # type: ignore[arg-type]


ENDED = {"firing": (), "resolved": (Sent("Lag", "task", "a", 7),)}


def route(kind: Kind, url: str, key: str = "") -> Route:
    return Route(name="r", kind=kind, to=Http(url=url, key=key))


def test_a_webhook_gets_json_and_its_token(http: Received, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    deliver(route("webhook", f"{http.url}/x", f"file:{tmp_path}/token"), message())
    ((path, headers, body),) = http.requests
    assert path == "/x" and headers["authorization"] == "Bearer s3cret"
    assert (body["status"], body["severity"], body["group"]["key"]) == ("firing", "warning", "k1")
    assert body["firing"][0]["summary"] == "Lag a" and body["title"] == "[FIRING 1] Lag (task a)"
    deliver(route("webhook", http.url), message(**ENDED))
    assert http.bodies[1]["status"] == "resolved" and http.bodies[1]["resolved"][0]["id"] == body["firing"][0]["id"]


def test_secrets_are_read_with_each_message(http: Received, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", f"{http.url}/first")
    deliver(route("slack", "env:HOOK"), message())
    monkeypatch.setenv("HOOK", f"{http.url}/second")
    deliver(route("slack", "env:HOOK"), message())
    assert [path for path, _, _ in http.requests] == ["/first", "/second"]
    monkeypatch.delenv("HOOK")
    with pytest.raises(ProcessError, match="the environment variable HOOK"):
        deliver(route("slack", "env:HOOK"), message())


def test_slack_and_what_would_mention_a_channel(http: Received) -> None:
    deliver(route("slack", http.url), message(firing=(alert("Lag", "<!channel>", severity="critical"),)))
    deliver(route("slack", http.url), message(**ENDED))
    first, second = http.bodies
    assert first["attachments"][0]["color"] == "danger" and second["attachments"][0]["color"] == "good"
    assert "<!" not in str(first["text"]) + first["attachments"][0]["text"]
    assert "resolved: Lag task a" in second["attachments"][0]["text"]


def test_pagerduty_is_triggered_and_resolved_under_one_key(http: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PD", "r0uting")
    for each in (message(), message(**ENDED)):
        deliver(route("pagerduty", http.url, "env:PD"), each)
    first, second = http.bodies
    assert (first["event_action"], second["event_action"]) == ("trigger", "resolve")
    assert first["dedup_key"] == second["dedup_key"] == "mysql-replicator /bus k1"
    assert first["routing_key"] == "r0uting" and first["payload"]["severity"] == "warning"
    assert (
        first["payload"]["source"] == "/bus"
        and first["payload"]["summary"]
        and first["client_url"] == "https://m:1/alerts"
    )


@pytest.mark.parametrize("status", [301, 307, 400, 401, 429, 500])
def test_what_is_not_accepted_is_an_error_without_the_address(http: Received, status: int) -> None:
    http.status, http.location = status, f"{http.url}/elsewhere"
    with pytest.raises(ProcessError) as refused:
        deliver(route("slack", f"{http.url}/services/secret"), message())
    assert refused.value.code == "E5183" and str(status) in refused.value.found
    assert "services" not in str(refused.value) and len(http.requests) == 1


def test_an_address_that_is_not_allowed_is_not_connected_to(http: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.ALLOW_OUTGOING, "10.0.0.0/8")
    with pytest.raises(ProcessError, match="E1050"):
        deliver(route("webhook", http.url), message())
    smtp = Smtp()
    with pytest.raises(ProcessError, match="E1050"):
        deliver(mail(smtp.port, "none"), message())
    smtp.close()
    monkeypatch.delenv(access.ALLOW_OUTGOING)
    connections.set_cluster_list(("10.0.0.0/8",))
    try:
        with pytest.raises(ProcessError, match="E1050"):
            deliver(route("webhook", http.url), message())
    finally:
        connections.set_cluster_list(None)
    assert http.requests == [] and smtp.mails == []


def test_nobody_listens() -> None:
    made = Received()
    made.close()
    with pytest.raises(ProcessError, match="E5183"):
        deliver(route("webhook", made.url), message())


def mail(port: int, tls: Literal["starttls", "tls", "none"], ca_file: str = "", password: str = "") -> Route:
    to = Email(
        host="localhost", port=port, tls=tls, user="bus" if password else "", password=password, ca_file=ca_file,
        sender="Bus <bus@example.com>", to=("ops@example.com", "dba@example.com"),
    )  # fmt: skip
    return Route(name="mail", kind="email", to=to)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_mail_over_tls_with_a_login(
    authority: Authority, tls: Literal["starttls", "tls"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", "s3cret")
    certificate, key = authority.leaf("localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    smtp = Smtp(context, implicit=tls == "tls", login=("bus", "s3cret"))
    try:
        sent = message(firing=(alert("Lag", "ä\r\nBcc: x@y"), alert("Lag", "b")))
        deliver(mail(smtp.port, tls, str(authority.ca), "env:SMTP_PASSWORD"), sent)
        with pytest.raises(ProcessError, match="certificate verify failed"):
            deliver(mail(smtp.port, tls, "", "env:SMTP_PASSWORD"), sent)
        monkeypatch.setenv("SMTP_PASSWORD", "wrong")
        with pytest.raises(ProcessError, match="535"):
            deliver(mail(smtp.port, tls, str(authority.ca), "env:SMTP_PASSWORD"), sent)
    finally:
        smtp.close()
    ((sender, to, text, secure, user),) = smtp.mails
    assert (sender, to, secure, user) == ("bus@example.com", ["ops@example.com", "dba@example.com"], True, "bus")
    read = message_from_string(text, policy=policy.default)
    assert read["Subject"] == "[bus] [FIRING 2] Lag" and read["Bcc"] is None
    assert "since 1970-01-01" in read.get_content() and "Alerts: https://m:1/alerts" in read.get_content()


def test_nothing_is_sent_where_starttls_is_wanted_and_not_offered() -> None:
    smtp = Smtp()
    try:
        with pytest.raises(ProcessError, match="no STARTTLS"):
            deliver(mail(smtp.port, "starttls"), message())
        deliver(mail(smtp.port, "none"), message())
        smtp.refuse = True
        with pytest.raises(ProcessError, match=r"refused .*ops@example.com"):
            deliver(mail(smtp.port, "none"), message())
    finally:
        smtp.close()
    assert len(smtp.mails) == 1


def test_a_test_has_an_end(http: Received) -> None:
    for each in trial("r", 1000):
        deliver(route("webhook", http.url), each)
    assert [(body["status"], body["test"]) for body in http.bodies] == [("firing", True), ("resolved", True)]
    assert http.bodies[0]["group"]["key"] == http.bodies[1]["group"]["key"]


def test_many_alerts_are_counted(http: Received) -> None:
    many = tuple(alert("Lag", f"t{number}") for number in range(LISTED + 7))
    deliver(route("webhook", http.url), msgspec.structs.replace(message(), firing=many))
    assert len(http.bodies[0]["firing"]) == LISTED and http.bodies[0]["omitted"] == 7
