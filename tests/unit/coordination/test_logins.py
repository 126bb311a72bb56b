"""Tokens and users in ZooKeeper, and how long a login is accepted."""

from __future__ import annotations

import time

import pytest

from replicator.coordination.access import passwords
from replicator.coordination.access.logins import FRESH_SECONDS, OUTAGE_SECONDS, Logins
from replicator.coordination.access.tokens import RESERVED, Tokens, token_id
from replicator.coordination.access.users import Users
from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.errors import ConfigError, NodeExists, NodeMissing, NotConnected
from replicator.model.principal import Principal

PASSWORD = "correct horse battery"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Site:
    def __init__(self) -> None:
        self.ensemble = MemoryEnsemble()
        self.coordinator: MemoryCoordinator = self.ensemble.session()
        self.layout = Layout()
        self.clock = Clock()
        self.tokens = Tokens(self.ensemble.session(), self.layout)
        self.users = Users(self.ensemble.session(), self.layout)
        self.logins = Logins(self.coordinator, self.layout, self.clock)

    def token(self, name: str = "ci", expires_ms: int = 0) -> str:
        made = self.tokens.create(name, "operator", "env=prod", expires_ms, "ann").secret
        self.clock.now += FRESH_SECONDS
        return made


@pytest.fixture
def site() -> Site:
    return Site()


def test_token_gives_its_principal(site: Site) -> None:
    assert site.logins.authenticate(site.token()) == Principal("ci", "operator", "env=prod", "token")


def test_what_is_not_the_token_is_nobody(site: Site) -> None:
    secret = site.token()
    other = site.token("other")
    for wrong in ("", "x", secret[:-1], secret + "x", secret.upper(), f" {secret}", secret[:21] + other[21:]):
        assert site.logins.authenticate(wrong) is None, wrong
    assert site.logins.authenticate(f"repl_{token_id('nobody')}_{'a' * 43}") is None


def test_znode_has_a_hash_only(site: Site) -> None:
    secret = site.token()
    data = site.coordinator.get(site.layout.token(token_id("ci"))).data
    assert secret.encode() not in data and secret[22:].encode() not in data
    site.users.create("ann", PASSWORD, "admin", "", "root")
    assert PASSWORD.encode() not in site.coordinator.get(site.layout.user("ann")).data


def test_revoked_token_is_refused_within_a_second(site: Site) -> None:
    secret = site.token()
    assert site.logins.authenticate(secret)
    site.tokens.revoke("ci")
    site.clock.now += FRESH_SECONDS
    assert site.logins.authenticate(secret) is None


def test_revoked_and_created_again_is_another_token(site: Site) -> None:
    secret = site.token()
    site.tokens.revoke("ci")
    again = site.token()
    assert site.logins.authenticate(secret) is None and site.logins.authenticate(again)


def test_expired_token_is_refused(site: Site) -> None:
    assert site.logins.authenticate(site.token("past", expires_ms=int(time.time() * 1000) - 1)) is None
    assert site.logins.authenticate(site.token("future", expires_ms=int(time.time() * 1000) + 3_600_000))


def test_during_an_outage_known_logins_hold_for_an_hour(site: Site) -> None:
    secret, unused = site.token(), site.token("unused")
    site.users.create("ann", PASSWORD, "admin", "", "root")
    assert site.logins.authenticate(secret) and site.logins.authenticate_user("ann", PASSWORD)
    site.coordinator.suspend()
    site.clock.now += OUTAGE_SECONDS - 10
    assert site.logins.authenticate(secret) and site.logins.authenticate_user("ann", PASSWORD)
    assert site.logins.authenticate_user("ann", PASSWORD + "x") is None
    with pytest.raises(NotConnected):
        site.logins.authenticate(unused)
    site.clock.now += 20
    with pytest.raises(NotConnected):
        site.logins.authenticate(secret)


def test_made_up_tokens_cost_one_reading_a_second(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[str] = []
    read = site.coordinator.children

    def children(path: str) -> list[str]:
        readings.append(path)
        return read(path)

    monkeypatch.setattr(site.coordinator, "children", children)
    monkeypatch.setattr(site.coordinator, "get", lambda path: readings.append(path))
    for number in range(50):
        assert site.logins.authenticate(f"repl_{number:016x}_{'a' * 43}") is None
    assert readings == [site.layout.tokens]


def test_record_that_nobody_understands_opens_nothing(site: Site) -> None:
    secret = site.token()
    site.coordinator.set(site.layout.token(token_id("ci")), b"{")
    assert site.logins.authenticate(secret) is None
    assert site.tokens.records() == []
    site.tokens.revoke("ci")
    assert site.tokens.ids() == []


def test_names_are_unique_and_one_is_reserved(site: Site) -> None:
    site.token()
    for name in ("ci", RESERVED):
        with pytest.raises(NodeExists, match="E5070"):
            site.tokens.create(name, "viewer", "", 0, "ann")
    for name in ("", "a b", "token:ci", "é", "x" * 65, "../x"):
        with pytest.raises(ConfigError, match="E1003"):
            site.tokens.create(name, "viewer", "", 0, "ann")
        with pytest.raises(ConfigError, match="E1003"):
            site.users.create(name, PASSWORD, "viewer", "", "ann")
    with pytest.raises(NodeMissing, match="E5071"):
        site.tokens.revoke("nobody")


def test_user_logs_in_with_the_password_until_it_changes(site: Site) -> None:
    site.users.create("ann", PASSWORD, "operator", "env=prod", "root")
    assert site.logins.authenticate_user("ann", PASSWORD) == Principal("ann", "operator", "env=prod", "user")
    mark = site.logins.password_mark("ann")
    for name, password in (("ann", "wrong"), ("bob", PASSWORD), ("", PASSWORD), ("ann", ""), ("ann", "x" * 5000)):
        assert site.logins.authenticate_user(name, password) is None
    site.users.set_password("ann", "another good password")
    site.clock.now += FRESH_SECONDS
    assert site.logins.authenticate_user("ann", PASSWORD) is None
    assert site.logins.authenticate_user("ann", "another good password")
    assert site.logins.password_mark("ann") != mark
    site.users.set_role("ann", "viewer", "")
    site.clock.now += FRESH_SECONDS
    assert site.logins.user("ann") == Principal("ann", "viewer", "", "user")
    site.users.remove("ann")
    site.clock.now += FRESH_SECONDS
    assert site.logins.user("ann") is None and site.logins.password_mark("ann") == ""
    assert site.logins.authenticate_user("ann", "another good password") is None


def test_change_of_a_user_that_is_not_there(site: Site) -> None:
    for name in ("bob", "", "../x"):
        with pytest.raises(NodeMissing, match="E5071"):
            site.users.set_password(name, PASSWORD)
        with pytest.raises(NodeMissing, match="E5071"):
            site.users.remove(name)


def test_short_password_is_refused_and_not_shown(site: Site) -> None:
    with pytest.raises(ConfigError) as refused:
        site.users.create("ann", "tooshort", "admin", "", "root")
    assert refused.value.code == "E1003" and "tooshort" not in str(refused.value)


def test_hash_that_nobody_understands_matches_nothing() -> None:
    for stored in ("", "scrypt", "scrypt$1$1$1$zz$00", "md5$1$1$1$00$00", "scrypt$3$1$1$00$00"):
        assert not passwords.matches(PASSWORD, stored)


def test_label_of_a_token_is_not_that_of_a_user() -> None:
    assert Principal("ann", "admin", "", "user").label == "ann"
    assert Principal("ann", "admin", "", "token").label == "token:ann"


def test_roles_include_each_other() -> None:
    assert [Principal("x", "operator").may(role) for role in ("viewer", "operator", "admin")] == [True, True, False]
