"""Addresses that operators give: what is accepted, and why something is not."""

from __future__ import annotations

import pytest

from replicator.host.addresses import parse_address, parse_ensemble


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("zk1:2181", "zk1:2181"),
        (" zk1:2181 , zk2:2182 ", "zk1:2181,zk2:2182"),
        ("zk_1.bus.example.:1,127.0.0.1:65535", "zk_1.bus.example.:1,127.0.0.1:65535"),
        ("[::1]:2181,[fe80::1%eth0]:2181", "[::1]:2181,[fe80::1%eth0]:2181"),
        ("zk1:2181,zk1:2181", "zk1:2181"),
        ("zk1:2181/", "zk1:2181"),
        ("zk1:2181,zk2:2181/prod/bus/", "zk1:2181,zk2:2181/prod/bus"),
    ],
)
def test_an_ensemble(text: str, parsed: str) -> None:
    assert str(parse_ensemble(text)) == parsed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no server"),
        (" , ", "no server"),
        ("/bus", "no server"),
        ("nonsense", "'nonsense' has no port"),
        ("zk1:", "no port"),
        ("[::1]", "no port"),
        (":2181", "no host"),
        ("zk1:2181,,zk2:2181", "empty entry"),
        ("zk1:2181,", "empty entry"),
        ("zk1:2181 zk2:2181", "separated by commas"),
        ("zk1 zk2:2181", "separated by commas"),
        ("zk1:0", "between 1 and 65535"),
        ("zk1:65536", "between 1 and 65535"),
        ("zk1:99999999999999999999", "between 1 and 65535"),
        ("zk1:-1", "not a number"),
        ("zk1:\u0663", "not a number"),
        ("::1:2181", "in brackets"),
        ("[zk1]:2181", "not an IPv6 address"),
        ("[::g]:2181", "not an IPv6 address"),
        ("10.0.0.256:2181", "not an IPv4 address"),
        ("zk-:2181", "not a host name"),
        ("zk..a:2181", "not a host name"),
        ("zk$1:2181", "not a host name"),
        ("a" * 64 + ":2181", "not a host name"),
        ("zookeeper://zk1:2181", "has a scheme"),
        ("http://zk1:2181/bus", "has a scheme"),
        ("zk1:2181/a,zk2:2181/a", "given once"),
        ("zk1:2181//a", "not the path of a znode"),
        ("zk1:2181/a/../b", "not the path of a znode"),
        ("zk1:2181/a b", "not the path of a znode"),
    ],
)
def test_what_is_no_ensemble(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_ensemble(text)


def test_the_same_servers_in_another_order_have_the_same_key() -> None:
    assert parse_ensemble("zk1:1,ZK2:2/a").key == parse_ensemble("zk2:2, zk1:1/a/").key
    assert parse_ensemble("zk1:1/a").key != parse_ensemble("zk1:1").key


def test_port_0_only_where_it_is_asked_for() -> None:
    assert parse_address("h:0", lowest_port=0) == ("h", 0)
    with pytest.raises(ValueError, match="between 1 and 65535"):
        parse_address("h:0")
