"""Support bundles: nothing secret, nothing fatal, everything bounded."""

from __future__ import annotations

import json
import stat
import threading
import zipfile
from pathlib import Path

import pytest

from replicator.cli.bundle.archive import MOST_BYTES, BundleFile
from replicator.cli.bundle.checks import checked, within
from replicator.cli.bundle.tree import TreeParts
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.registry import Registry
from replicator.errors import ProcessError
from replicator.telemetry.redaction import MASK, redacted, redacted_text

MARKER = "hunter2-MARKER-9f3c"


@pytest.mark.parametrize(
    "text",
    [
        f"password={MARKER}",
        f'"password": "{MARKER}"',
        f"mysql://root:{MARKER}@db/x",
        f"Authorization: Bearer {MARKER}",
        f"token: {MARKER}",
        f"repl_4711_{MARKER}",
        f"sealed:k1:{MARKER}",
        f"-----BEGIN PRIVATE KEY-----\n{MARKER}\n-----END PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\n{MARKER}",
        f"eyJhbGciOiJIUzI1NiJ9.{MARKER}.{MARKER}",
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str) -> None:
    assert MARKER not in redacted_text(text) and MASK in redacted_text(text)


def test_references_and_the_rest_stay() -> None:
    config = {
        "source": {"password": "env:DB_PASSWORD", "user": "repl", "tls": {"key": "file:/etc/key.pem"}},
        "sink": {"sasl_password": MARKER, "options": [{"client_secret": MARKER}], "topic": "tokens.{table}"},
        "registry": {"url": f"https://me:{MARKER}@registry:8081"},
    }
    found = json.dumps(redacted(config))
    assert MARKER not in found
    assert "env:DB_PASSWORD" in found and "file:/etc/key.pem" in found and "tokens.{table}" in found


def test_a_part_that_fails_is_noted_and_the_rest_is_there(tmp_path: Path) -> None:
    def broken() -> str:
        raise OSError(f"password={MARKER}")

    def refused() -> str:
        raise ProcessError("E5003", "there is no task 'x'")

    bundle = BundleFile()
    bundle.add("a.txt", "works", lambda: "fine")
    bundle.add("b.txt", "does not", broken)
    bundle.add("c.txt", "does not", refused)
    bundle.add("d.txt", "is large", lambda: "x" * (MOST_BYTES + 5))
    path = tmp_path / "bundle.zip"
    bundle.write(path, "A bundle")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(list(tmp_path.iterdir())) == 1
    with zipfile.ZipFile(path) as file:
        assert file.namelist() == ["README.txt", "a.txt", "d.txt"]
        readme = file.read("README.txt").decode()
        assert "b.txt: OSError" in readme and "E5003" in readme and "d.txt: cut" in readme and MARKER not in readme
        assert len(file.read("d.txt")) == MOST_BYTES
    with pytest.raises(ProcessError, match="E5100"):
        bundle.write(tmp_path / "missing" / "bundle.zip", "")


def test_tasks_of_the_tree() -> None:
    zk, layout = MemoryEnsemble().session(), Layout()
    Registry(zk, layout).create("copy", {"name": "copy"}, "me")
    History(zk, layout).append("copy", HistoryRecord(kind="running", time_ms=1))
    tree = TreeParts(zk, layout)
    assert tree.names() == ["copy"] and tree.configuration("copy") == {"name": "copy"}
    assert tree.history("copy")[0]["record"]["kind"] == "running"
    assert f"{layout.status('copy')}\n" in tree.sizes()
    json.dumps([tree.task("copy"), tree.machines(), tree.positions("copy")])


def test_a_check_that_hangs_does_not_hold_the_bundle_up() -> None:
    held = threading.Event()
    with pytest.raises(TimeoutError, match="no result"):
        within(0.05, held.wait)
    held.set()
    assert within(60, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 / 0)
    assert checked(None) == "not configured"
