"""Routes in YAML."""

from __future__ import annotations

import pytest

from dev.paths import TREE
from replicator.alerts.route import Email, Http
from replicator.alerts.route_file import PAGERDUTY, load, routes
from replicator.errors import ProcessError


def test_the_example_is_valid() -> None:
    found = {one.name: one for one in load(TREE / "deploy" / "alert-routes.yaml")}
    assert [one.kind for one in found.values()] == ["pagerduty", "slack", "webhook", "email"]
    assert isinstance(found["on-call"].to, Http) and found["on-call"].to.url == PAGERDUTY
    mail = found["mail"]
    assert isinstance(mail.to, Email) and (mail.to.port, mail.to.tls) == (587, "starttls")
    assert (mail.repeat_s, mail.group_wait_s, mail.group_by) == (86_400, 30, ("rule",))
    assert found["on-call"].group_by == ("rule", "task", "machine") and found["on-call"].goes_on


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("[]", 1, "something else than a mapping"),
        ("routes: []", 1, "no list of routes"),
        ("route: []", 1, "the key 'route'"),
        ("routes:\n  - {webhook: {url: 'http://h'}}", 2, "the name None"),
        ("routes:\n  - {name: a}", 2, "a with no receiver"),
        (
            "routes:\n  - name: a\n    webhook: {url: 'http://h'}\n    slack: {url: 'http://h'}",
            2,
            "a with webhook and slack",
        ),
        ("routes:\n  - name: a\n    webhook: {url: 'ftp://h'}", 3, "a URL that is not valid"),
        ("routes:\n  - name: a\n    webhook: {url: 'http://u:secret@h'}", 3, "a password in the URL"),
        ("routes:\n  - name: a\n    webhook: {}", 3, "no url"),
        ("routes:\n  - name: a\n    webhook: {url: 'http://h', token: secret}", 3, "token with a literal value"),
        ("routes:\n  - name: a\n    pagerduty: {}", 3, "no routing_key"),
        ("routes:\n  - name: a\n    pagerduty: {routing_key: secret}", 3, "routing_key with a literal value"),
        ("routes:\n  - name: a\n    email: {host: h, from: a@b}", 3, "no addresses"),
        ("routes:\n  - name: a\n    email: {host: h, from: 'a', to: [a@b]}", 3, "the address a"),
        ("routes:\n  - name: a\n    email: {host: h, from: a@b, to: [a@b], user: x}", 3, "a user without a password"),
        (
            "routes:\n  - name: a\n    email: {host: h, from: a@b, to: a@b, user: x, password: 'env:P', tls: none}",
            3,
            "a password without TLS",
        ),
        ("routes:\n  - name: a\n    match: [x]\n    webhook: {url: 'http://h'}", 3, "match that is no mapping"),
        ("routes:\n  - name: a\n    match: {a: 1}\n    webhook: {url: 'http://h'}", 3, "a: 1"),
        ("routes:\n  - name: a\n    group_wait: soon\n    webhook: {url: 'http://h'}", 3, "group_wait: soon"),
        ("routes:\n  - name: a\n    repeat_interval: 0s\n    webhook: {url: 'http://h'}", 3, "repeat_interval: 0s"),
        ("routes:\n  - &x {name: a}", None, "line 2"),
        (
            "routes:\n  - name: a\n    webhook: {url: 'http://h'}\n  - name: a\n    webhook: {url: 'http://h'}",
            4,
            "two routes with the name a",
        ),
    ],
)
def test_errors_name_the_line_and_no_secret(text: str, line: int | None, found: str) -> None:
    with pytest.raises(ProcessError) as refused:
        routes(text, "routes.yaml")
    assert refused.value.code == "E5182" and "secret" not in str(refused.value).replace("with a secret", "")
    assert found in refused.value.found
    if line is not None:
        assert f"routes.yaml, line {line}:" in refused.value.what
