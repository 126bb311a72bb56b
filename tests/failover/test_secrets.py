"""Passwords that change while a task runs: in a file, and sealed in the configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dev.cluster import wait_for
from dev.servers import MySQL
from replicator.config import cluster_keys
from replicator.coordination.tasks.history import History
from tests.failover.bus import Bus

pytestmark = pytest.mark.servers


def change(mysql: MySQL, account: str, password: str) -> None:
    """At once also for the connections that it has."""
    mysql.execute(f"ALTER USER {account} IDENTIFIED BY '{password}'")
    name = account.partition("@")[0].strip("'")
    connection = mysql.connect()
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = %s", (name,))
        for (number,) in cursor.fetchall():
            cursor.execute(f"KILL {number}")


def test_a_rotated_password_is_picked_up(
    make_bus: Callable[..., Bus], mysql: MySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    password, keys = folder / "password", tmp_path / "cluster.keys"
    password.write_text("first-password\n")
    monkeypatch.setenv("REPLICATOR_SECRETS_DIRECTORY", str(folder))
    monkeypatch.setenv(cluster_keys.VARIABLE, str(keys))
    cluster_keys.add(keys)
    account = f"'rotated{tmp_path.name[-6:].replace('-', '_')}'@'%'"
    mysql.execute(f"CREATE USER {account} IDENTIFIED BY 'first-password'")
    try:
        mysql.execute(f"GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {account}")
        user = account.partition("@")[0].strip("'")
        bus = make_bus("host-a", source={"user": user, "password": f"file:{password}", "tls": {"insecure": True}})

        # First the account and then the file: the task waits for it.
        change(mysql, account, "second-password")
        wait_for(lambda: (found := bus.look().retrying) and found.code == "E2101", lambda: f"refused{bus.logs()}", 30)
        password.write_text("second-password\n")
        bus.wait_delivered(30)

        # Sealed into the configuration, and under another key.
        change(mysql, account, "third-password")
        status, out, err = bus.cluster.failing(
            "task", "secret", "set", bus.name, "source.password", given="third-password\n"
        )
        assert (status, out) == (0, f"{bus.name}: source.password sealed\n"), err
        bus.wait_running()
        bus.wait_delivered(30)
        first = bus.look()
        cluster_keys.add(keys)
        assert bus.cluster.cli("cluster", "rotate-key") == f"{bus.name}: source.password\n"
        wait_for(lambda: bus.look().config_version > first.config_version, "the new version", 20)
        bus.wait_delivered(30)
        now = bus.look()
        assert first.figures is not None and now.figures is not None
        assert now.figures.worker_pid == first.figures.worker_pid, "the secret is the same"

        verdict = bus.verdict()
        assert verdict.clean, str(verdict)
        kinds = [entry.record.kind for entry in History(bus.coordinator, bus.layout).read(bus.name)]
        assert "failed" not in kinds, kinds
        texts = [bus.cluster.cores["host-a"].log_path.read_text(), (tmp_path / "server.log").read_text()]
        texts += [node.decode() for node in nodes(bus)]
        for secret in ("first-password", "second-password", "third-password"):
            assert not any(secret in text for text in texts)
    finally:
        mysql.execute(f"DROP USER {account}")


def nodes(bus: Bus) -> list[bytes]:
    """The content of each znode of the bus."""
    found, paths = [], [bus.layout.root]
    while paths:
        path = paths.pop()
        found.append(bus.coordinator.get(path).data)
        paths += [f"{path}/{child}" for child in bus.coordinator.children(path)]
    return found
