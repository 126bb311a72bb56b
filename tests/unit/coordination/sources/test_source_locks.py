"""Under which names the source of a task is locked, and what is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.sources.source_locks import SourceLocks, parse_source, sources_of
from replicator.coordination.watches import Watches
from replicator.errors import ConfigError, NodeMissing, ProcessError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DB1.Example.com.", "db1.example.com:3306"),
        ("db1:3307", "db1:3307"),
        ("[2001:DB8:0::7]", "[2001:db8::7]:3306"),
        ("[2001:db8::7]:3310", "[2001:db8::7]:3310"),
        ("ddns:shop/orders", "ddns:shop/orders"),
    ],
)
def test_one_form_of_each_address(text: str, name: str) -> None:
    assert parse_source(text) == name


@pytest.mark.parametrize("text", ["", "a b", "db1:0", "ddns:shop", "db1:x", "../x"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_source(text)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ({"type": "mysql", "host": "DB1", "port": None}, ("db1:3306",)),
        ({"type": "mysql"}, ("127.0.0.1:3306",)),
        ({"type": "mysql", "host": "::1", "port": 7}, ("[::1]:7",)),
        ({"type": "mysql", "hosts": ["db1:1", "db2:2"], "host": "127.0.0.1", "port": 3306}, ("db1:1", "db2:2")),
        ({"type": "mysql", "address": "ddns:a/b"}, ("ddns:a/b", "db9:3306")),
        ({"type": "kafka", "bootstrap_servers": ["k1:9092", "k2:9092"]}, ("k1:9092", "k2:9092")),
        ({"type": "mysql", "host": "a b"}, ()),
        (None, ()),
    ],
)
def test_names_of_the_source_of_a_task(source: dict[str, Any] | None, names: tuple[str, ...]) -> None:
    assert sources_of({"source": source}, ("db9:3306",)) == names
    assert sources_of(None) == ()


def test_one_person_at_a_time_and_until_when() -> None:
    session, layout = MemoryEnsemble().session(), Layout()
    locks = SourceLocks(session, layout)
    locks.lock("db1:3306", "ann", "new disks", until_ms=5_000)
    with pytest.raises(ProcessError) as error:
        locks.lock("db1:3306", "bea", "")
    assert error.value.code == "E5161" and "by ann since" in error.value.found and "new disks" in error.value.found
    locks.lock("db2:3306", "bea", "")
    assert locks.expire(4_999) == [] and locks.expire(5_000) == ["db1:3306"]
    assert list(locks.all()) == ["db2:3306"]
    locks.unlock("db2:3306")
    with pytest.raises(NodeMissing) as missing:
        locks.unlock("db2:3306")
    assert missing.value.code == "E5162"


def test_a_record_that_can_not_be_read_locks() -> None:
    session, layout = MemoryEnsemble().session(), Layout()
    session.create(layout.source_lock("db1:3306"), b"{", parents=True)
    found = SourceLocks(session, layout).find("db1:3306")
    assert found is not None and "can't be read" in found.problem().found


def test_the_first_of_the_names_that_is_locked_is_told_and_all_are_watched() -> None:
    session, layout = MemoryEnsemble().session(), Layout()
    locks, woken = SourceLocks(session, layout), []
    watches = Watches(lambda: woken.append(True))
    names = ("db1:1", "db2:2", "db3:3")
    locks.lock("db3:3", "ann", "")
    locks.lock("db2:2", "bea", "")
    held = locks.holding(names, watches)
    assert held is not None and held.name == "db2:2"
    locks.lock("db1:1", "cy", "")
    assert woken, "a name that was not locked is watched, too"
    held = locks.holding(names, watches)
    assert held is not None and held.name == "db1:1"
