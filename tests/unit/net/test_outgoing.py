"""Lists of outgoing addresses: what an entry may be, and what a list permits."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import ConfigError
from replicator.net.outgoing import AllowList, literal, parse_entry, parse_list, refusal


def permits(entries: str, host: str, address: str, port: int = 3306) -> bool:
    return parse_list(entries.split(), "of a test").permits(host, ipaddress.ip_address(address), port)


def may(entries: str, host: str, port: int = 3306) -> bool:
    return parse_list(entries.split(), "of a test").may_permit(host, port)


@pytest.mark.parametrize(
    ("entries", "host", "address", "port", "allowed"),
    [
        ("10.0.0.0/8", "db1", "10.1.2.3", 3306, True),
        ("10.0.0.0/8", "db1", "11.1.2.3", 3306, False),
        ("10.0.0.0/8:3306", "db1", "10.1.2.3", 3306, True),
        ("10.0.0.0/8:3306", "db1", "10.1.2.3", 3307, False),
        ("10.1.2.3", "10.1.2.3", "10.1.2.3", 1, True),
        ("10.0.0.0/8", "db1", "::ffff:10.1.2.3", 3306, True),
        ("::/0", "db1", "::ffff:10.1.2.3", 3306, False),  # IPv4 in another form
        ("::/0", "db1", "2001:db8::1", 3306, True),
        ("[2001:db8::/32]:9092", "db1", "2001:db8::1", 9092, True),
        ("[2001:db8::/32]:9092", "db1", "2001:db8::1", 9093, False),
        ("fe80::/10", "fe80::1%eth0", "fe80::1%eth0", 3306, True),
        ("db1.example.com", "db1.example.com", "203.0.113.9", 3306, True),
        ("db1.example.com", "DB1.Example.COM.", "203.0.113.9", 3306, True),
        ("DB1.example.com.", "db1.example.com", "203.0.113.9", 3306, True),
        ("db1.example.com:3307", "db1.example.com", "203.0.113.9", 3306, False),
        ("db1.example.com", "db2.example.com", "203.0.113.9", 3306, False),
        ("*.example.com", "a.b.example.com", "203.0.113.9", 3306, True),
        ("*.example.com", "example.com", "203.0.113.9", 3306, False),
        ("*.example.com", "badexample.com", "203.0.113.9", 3306, False),
        ("example.com", "a.example.com", "203.0.113.9", 3306, False),
        ("bücher.example", "xn--bcher-kva.example", "203.0.113.9", 3306, True),
        # a name whose zone is another's leads nowhere near this host
        ("*.example.com", "a.example.com", "127.0.0.1", 3306, False),
        ("*.example.com", "a.example.com", "::1", 3306, False),
        ("*.example.com", "a.example.com", "::ffff:127.0.0.1", 3306, False),
        ("*.example.com", "a.example.com", "0.0.0.0", 3306, False),
        ("*.example.com", "a.example.com", "::", 3306, False),
        ("*.example.com", "a.example.com", "169.254.169.254", 80, False),
        ("*.example.com", "a.example.com", "::ffff:169.254.169.254", 80, False),
        ("*.example.com", "a.example.com", "2002:a9fe:a9fe::1", 80, False),  # 6to4 of 169.254.169.254
        ("*.example.com", "a.example.com", "64:ff9b::a9fe:a9fe", 80, False),  # NAT64
        ("*.example.com", "a.example.com", "fd00:ec2::254", 80, False),
        ("*.example.com", "a.example.com", "fe80::1", 80, False),
        ("*.example.com", "a.example.com", "224.0.0.1", 80, False),
        ("*.example.com 127.0.0.0/8", "a.example.com", "127.0.0.1", 3306, True),
        # an address is permitted as a network, whatever name it looks like
        ("*.example.com", "203.0.113.9", "203.0.113.9", 3306, False),
        ("localhost", "localhost", "127.0.0.1", 3306, True),
        ("localhost", "localhost", "::1", 3306, True),
        ("localhost", "127.0.0.1", "127.0.0.1", 3306, True),
        ("localhost:3306", "localhost", "127.0.0.1", 3307, False),
        ("localhost", "localhost", "10.0.0.1", 3306, False),
        ("none", "db1", "10.0.0.1", 3306, False),
    ],
)
def test_permits(entries: str, host: str, address: str, port: int, allowed: bool) -> None:
    assert permits(entries, host, address, port) is allowed
    if allowed:
        assert may(entries, host, port)


@pytest.mark.parametrize(
    ("entries", "host", "possible"),
    [
        ("10.0.0.0/8", "db1", True),  # it depends on the address
        ("10.0.0.0/8:9092", "db1", False),
        ("10.0.0.0/8", "10.2.3.4", True),
        ("10.0.0.0/8", "127.0.0.1", False),
        ("10.0.0.0/8", "0177.0.0.1", False),
        ("127.0.0.0/8", "0177.0.0.1", True),
        ("127.0.0.0/8", "2130706433", True),
        ("127.0.0.0/8", "0x7f.1", True),
        ("127.0.0.0/8", "127.1", True),
        ("10.0.0.0/8", "::ffff:127.0.0.1", False),
        ("10.0.0.0/8", "[::1]", False),
        ("10.0.0.0/8", "localhost", False),
        ("10.0.0.0/8", "LOCALHOST.", False),
        ("::/0", "localhost", True),
        ("0.0.0.0/0", "localhost", True),
        ("db1.example.com", "db1.example.com", True),
        ("db1.example.com", "db2.example.com", False),
        ("none", "db1.example.com", False),
    ],
)
def test_what_is_known_before_a_name_is_looked_up(entries: str, host: str, possible: bool) -> None:
    assert may(entries, host) is possible


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "*.",
        "http://db1",
        "db1:",
        "db1:0",
        "db1:70000",
        "db1:x",
        "10.1.2.3/8",  # not the beginning of a network
        "10.0.0.0/33",
        "010.0.0.1",
        "0x7f.0.0.1",
        "1.2.3",
        "db.1",
        "a..b",
        "-a.example.com",
        "a*.example.com",
        "db1 db2",
        "[::1",
        "[10.0.0.1]:1",
        "::ffff:10.0.0.0/104",
        "2001:db8::1:99999",
        "fe80::1%eth0/64/64",
        "x" * 300,
    ],
)
def test_invalid_entries(text: str) -> None:
    with pytest.raises(ValueError):
        parse_entry(text)
    with pytest.raises(ConfigError) as refused:
        parse_list([text], "of a test")
    assert refused.value.code == "E1051"


@pytest.mark.parametrize("entries", [[], ["none", "db1"]])
def test_a_list_is_never_empty_by_mistake(entries: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_list(entries, "of a test")
    assert refused.value.code == "E1051"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::FFFF:7f00:1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0X7F000001", "127.0.0.1"),
        ("１２７.0.0.1", "127.0.0.1"),  # digits of another script, as resolvers read them
        ("db1", None),
        ("1.2.3.4.example.com", None),
        ("999.999.999.999", None),
        ("", None),
    ],
)
def test_literal(host: str, address: str | None) -> None:
    assert literal(host) == (ipaddress.ip_address(address) if address else None)


def test_the_error_names_address_list_and_entries() -> None:
    found = refusal(
        "db1", 3306, [ipaddress.ip_address("169.254.169.254")], parse_list([f"10.{n}.0.0/16" for n in range(9)], "here")
    )
    assert found.code == "E1050"
    assert "db1:3306" in found.what and "here" in found.what
    assert found.found == "db1 is 169.254.169.254"
    assert found.wanted.endswith("10.5.0.0/16 and 3 more")


ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))
ENTRIES = st.sampled_from(
    ["10.0.0.0/8", "0.0.0.0/0", "::/0", "fe80::/10", "db1", "*.example.com", "localhost", "10.0.0.0/8:1", "db1:1"]
)


@given(st.lists(ENTRIES, min_size=1, max_size=4), ADDRESSES, st.sampled_from(["db1", "a.example.com", "localhost"]))
def test_more_entries_never_permit_less_and_what_is_permitted_may_be(
    entries: list[str], address: ipaddress.IPv4Address | ipaddress.IPv6Address, host: str
) -> None:
    some, all_ = parse_list(entries[:1], "x"), parse_list(entries, "x")
    for name in (host, str(address)):
        assert some.permits(name, address, 1) <= all_.permits(name, address, 1)
        if name == str(address) or host != "localhost" or address.is_loopback:
            assert all_.permits(name, address, 1) <= all_.may_permit(name, 1)


@given(ADDRESSES, st.sampled_from(["db1", "a.example.com"]))
def test_names_alone_never_lead_to_this_host(address: ipaddress.IPv4Address | ipaddress.IPv6Address, host: str) -> None:
    by_name = parse_list(["db1", "*.example.com"], "x")
    if address.is_loopback or address.is_link_local or address.is_unspecified:
        assert not by_name.permits(host, address, 1)


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_the_same_address(address: ipaddress.IPv4Address) -> None:
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    for entries in (["10.0.0.0/8"], ["0.0.0.0/1"], ["::/0"], ["db1"]):
        lists: AllowList = parse_list(entries, "x")
        assert lists.permits("db1", address, 1) == lists.permits("db1", mapped, 1)


@given(st.text(alphabet="0123456789abcdefx.:%[]-", max_size=20))
def test_what_the_resolver_takes_for_an_address_is_one_for_us(host: str) -> None:
    try:
        found = socket.getaddrinfo(host, 1, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError, ValueError):
        return
    address = ipaddress.ip_address(str(found[0][4][0]).partition("%")[0])
    assert literal(host) in (address, getattr(address, "ipv4_mapped", None))
