"""Commits over several connections: names of their transactions, decisions, and servers that have them."""

from __future__ import annotations

import pytest

from replicator.errors import SinkError
from replicator.mysql.server import Server
from replicator.sink.mysql.branches import support, xids
from replicator.sink.mysql.branches.recovery import Decision, decision


def server(version: tuple[int, ...], *, mariadb: bool = False, **variables: str) -> Server:
    shown = ".".join(map(str, version))
    return Server(mariadb, version, "applier@%", {"version": shown, **variables})


@pytest.mark.parametrize(
    ("found", "lacking"),
    [
        (server((9, 7, 0)), None),
        (server((8, 0, 30)), None),
        (server((8, 0, 29)), "8.0.29"),
        (server((5, 7, 44)), "5.7.44"),
        (server((10, 5, 2), mariadb=True), None),
        (server((11, 8, 2), mariadb=True), None),
        (server((10, 4, 34), mariadb=True), "10.4.34"),
        (server((11, 8, 2), mariadb=True, wsrep_on="ON"), "wsrep_on = ON"),
    ],
)
def test_servers(found: Server, lacking: str | None) -> None:
    if lacking is None:
        support.refuse_unsupported(found, "db:3306")
        return
    with pytest.raises(SinkError) as raised:
        support.refuse_unsupported(found, "db:3306")
    assert (raised.value.code, raised.value.found, raised.value.transient) == ("E3415", lacking, False)


def test_a_name_fits_what_servers_take() -> None:
    """64 bytes for each of its two parts, whatever the names of the task and of the installation."""
    owner = xids.owner("`replicator`.replicator_position", "i" * 64, "t" * 255)
    literal = xids.Xid(owner, f"{2**64 - 1}.{2**64 - 1}", 31).literal.decode()
    transaction, branch, _ = literal.split(",")
    assert len(transaction) - 2 <= 64 and len(branch) - 2 <= 64


def test_tasks_have_names_of_their_own() -> None:
    names = [("p", "i", "a"), ("p", "i", "a2"), ("p", "j", "a"), ("q", "i", "a"), ("p", "ia", "")]
    assert len({xids.owner(*name) for name in names}) == len(names)


def test_decisions() -> None:
    made = Decision("7.4242", "u1", (1, 3))
    assert decision(made.text.decode()) == made
    assert decision("") is None
