"""Names and values of the address book."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.ddns import Name, canonical, parse_address, parse_name, parse_role, placed, references, resolved
from replicator.config.load import TaskConfigError, parse_task, to_data
from replicator.errors import ConfigError
from replicator.mysql.hosts import candidates

TASK: dict[str, Any] = {
    "name": "orders",
    "source": {"type": "mysql", "address": "ddns:shop/orders", "user": "u", "password": "env:P"},
    "sink": {"type": "kafka", "address": "ddns:shop/broker"},
}


@pytest.mark.parametrize("text", ["shop/orders", "ddns:shop/orders", "a/b", "A.1_x-/9..", f"{'a' * 64}/{'b' * 64}"])
def test_names(text: str) -> None:
    assert str(parse_name(text)) == text.removeprefix("ddns:")


@pytest.mark.parametrize(
    "text",
    [
        "", "/", "shop", "shop/", "/orders", "shop/orders/x", "../orders", "shop/..", "shop/.x", "-a/b", "shop/a b",
        "shop/é", "shop/%2F", "shop/orders\n", "ddns:ddns:a/b", f"{'a' * 65}/b", "zookeeper/\x00",
    ],
)  # fmt: skip
def test_odd_names(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_name(text)
    assert error.value.code == "E4100"


@pytest.mark.parametrize(
    ("text", "host", "port", "usual"),
    [
        ("db1:3306", "db1", 3306, "db1:3306"),
        ("DB1.Example.com.:3306", "DB1.Example.com.", 3306, "db1.example.com:3306"),
        ("10.0.0.7:1", "10.0.0.7", 1, "10.0.0.7:1"),
        ("[2001:db8::7]:65535", "2001:db8::7", 65535, "[2001:db8::7]:65535"),
        ("[2001:DB8:0:0::7]:03306", "2001:DB8:0:0::7", 3306, "[2001:db8::7]:3306"),
    ],
)
def test_addresses(text: str, host: str, port: int, usual: str) -> None:
    assert parse_address(text) == (host, port)
    assert canonical(text) == usual == canonical(usual)


@pytest.mark.parametrize(
    "text",
    [
        "", "db1", "db1:", ":3306", "db1:0", "db1:65536", "db1:33o6", "db1:³", "2001:db8::7:3306", "[db1]:3306",
        "[]:3306", "[10.0.0.7]:3306", "10.0.0.999:1", "1.2.3:1", "a..b:1", "-a:1", "a b:1", "a/b:1", "user@db1:3306",
        "db1:3306,db2:3306", "[fe80::1%eth0]:3306", "db1 :3306", "db1:3306\n", "é:1", f"{'a' * 300}:1",
    ],
)  # fmt: skip
def test_odd_addresses(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        canonical(text)
    assert error.value.code == "E4100"


@given(st.ip_addresses(), st.integers(1, 65535))
def test_every_ip_address_comes_back(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> None:
    text = f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
    host, found = parse_address(canonical(text))
    assert (ipaddress.ip_address(host), found) == (address, port)


@given(st.text(max_size=40))
def test_nothing_else_is_raised(text: str) -> None:
    for parse in (parse_name, canonical, parse_role):
        try:
            parse(text)
        except ConfigError as error:
            assert error.code == "E4100"


def test_a_configuration_with_addresses() -> None:
    data = to_data(parse_task(TASK))
    assert list(references(data)) == [("source", Name("shop", "orders")), ("sink", Name("shop", "broker"))]
    task = parse_task(resolved(data, {"source": "[2001:db8::7]:3307", "sink": "k:9092"}))
    assert candidates(task.database)[0].host == "2001:db8::7" and task.database.port == 3307
    assert task.sink.model_dump()["bootstrap_servers"] == ("k:9092",)
    assert list(references(to_data(task))) == []


def test_what_is_not_resolved_is_never_this_host() -> None:
    """Without `host` a server would be that of this host."""
    with pytest.raises(ConfigError) as error:
        candidates(parse_task(resolved(TASK, {"sink": "k:9092"})).database)
    assert error.value.code == "E4104"


def test_a_target_has_no_hosts_beside_an_address() -> None:
    part = placed({"type": "mysql", "hosts": ["a:1", "b:2"], "address": "ddns:a/b", "user": "u"}, "c:3")
    assert part == {"type": "mysql", "user": "u", "host": "c", "port": 3}


@pytest.mark.parametrize(
    ("section", "more"),
    [
        ("source", {"host": "db1"}),
        ("source", {"port": 3306}),
        ("source", {"host": "127.0.0.1", "port": 3306}),
        ("source", {"hosts": ["a:1", "b:2"]}),
        ("source", {"address": "shop/orders"}),
        ("source", {"address": "ddns:shop"}),
        ("source", {"address": "ddns:shop/orders/x"}),
        ("sink", {"bootstrap_servers": ["k:9092"]}),
        ("sink", {"address": None}),
    ],
)
def test_one_address_for_each(section: str, more: dict[str, Any]) -> None:
    """Also what an earlier version wrote beside `hosts`."""
    with pytest.raises(TaskConfigError) as error:
        parse_task({**TASK, section: {**TASK[section], **more}})
    assert error.value.code == "E1003", error.value


@pytest.mark.parametrize("junk", [{}, {"source": None}, {"source": 7}, {"source": {"address": 7}}, {"sink": ["x"]}])
def test_a_damaged_configuration_has_none(junk: dict[str, Any]) -> None:
    assert list(references(junk)) == []
