"""What `replicator check` says of listeners, and of the record of purged tasks."""

from __future__ import annotations

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.records import MonitorRecord, PurgedRecord, Record, ServerRecord, dump
from replicator.zookeeper.checks import lost
from replicator.zookeeper.security_checks import listeners

LAYOUT = Layout()


def found(record: Record) -> list[tuple[str, str, str]]:
    zk = MemoryEnsemble().session()
    prefix = LAYOUT.monitor_prefix if isinstance(record, MonitorRecord) else LAYOUT.server_prefix
    zk.create(prefix("h", "a" * 32), dump(record), ephemeral=True, sequential=True, parents=True)
    return [(one.id, one.severity, one.found) for one in listeners(zk, LAYOUT)]


@pytest.mark.parametrize(
    ("address", "login", "wanted"),
    [
        ("http://127.0.0.1:8081", False, ["ok"]),
        ("http://[::1]:8081", False, ["ok"]),
        ("https://10.0.0.1:8081", True, ["ok"]),
        ("https://10.0.0.1:8081", False, ["fail no login"]),
        ("http://10.0.0.1:8081", True, ["fail without TLS"]),
        ("http://0.0.0.0:8081", False, ["fail without TLS", "fail no login"]),
        ("http://[", True, ["fail without TLS"]),
        ("", True, ["fail without TLS"]),
    ],
)
def test_listeners_of_monitors(address: str, login: bool, wanted: list[str]) -> None:
    shown = found(MonitorRecord(host="h", pid=1, address=address, since_ms=0, login=login))
    assert [name for name, _, _ in shown] == ["monitor.listener"] * len(wanted)
    for (_, severity, text), one in zip(shown, wanted, strict=True):
        assert severity == one.partition(" ")[0] and one.partition(" ")[2] in text and f"{address} of h" in text


def test_listeners_of_servers() -> None:
    def one(address: str, problem: bool = False) -> list[str]:
        record = ServerRecord(host="h", pid=1, address=address, since_ms=0, certificate_problem=problem)
        return [severity for _, severity, _ in found(record)]

    assert one("http://127.0.0.1:1") == one("https://h:1") == ["ok"]
    assert one("http://h:1") == ["fail"] and one("https://h:1", problem=True) == ["warn"]


def test_a_record_of_purged_tasks_that_was_lost() -> None:
    assert lost(PurgedRecord(uids=("a",)), "/x") == []
    (finding,) = lost(PurgedRecord(lost_ms=1_795_143_000_000), "/x")
    assert finding.severity == "warn" and "2026-" in finding.found and "source.start" in finding.fix
