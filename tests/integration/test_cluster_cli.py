"""`cluster backup`, `cluster restore` and `bundle`, typed as users do."""

from __future__ import annotations

import json
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dev.servers import ZooKeeper
from replicator.cli.main import main
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.registry import Registry
from replicator.errors import ProcessError
from replicator.zookeeper.client import connect

MARKER = "hunter2-MARKER"
CONFIG = {"name": "copy", "source": {"type": "mysql", "password": MARKER}, "note": "x"}


@pytest.fixture
def zk(zookeeper: ZooKeeper) -> Iterator[Coordinator]:
    coordinator = connect(zookeeper.address, 4.0)
    yield coordinator
    coordinator.close()


def test_backup_restore_and_bundle(zookeeper: ZooKeeper, zk: Coordinator, tmp_path: Path) -> None:
    old, new = Layout(f"/cli-{uuid.uuid4().hex}"), Layout(f"/cli-{uuid.uuid4().hex}")
    Registry(zk, old).create("copy", CONFIG, "me")
    file = str(tmp_path / "backup.zip")

    def run(*arguments: str, root: Layout | None = old) -> Result:
        where = ["--zookeeper", zookeeper.address, "--root", root.root] if root else []
        return CliRunner().invoke(main, [*arguments, *where], standalone_mode=False)

    assert "written: 1 task" in run("cluster", "backup", file).output
    assert "is intact: 1 task" in run("cluster", "backup", "--verify", file, root=None).output
    refused = run("cluster", "restore", file)
    assert isinstance(refused.exception, ProcessError) and refused.exception.code == "E5103"
    shown = json.loads(run("cluster", "restore", file, "--dry-run", "-o", "json", root=new).output)
    assert shown["steps"] == [{"task": "copy", "action": "create", "why": ""}]
    assert Registry(zk, new).names() == []
    assert "copy restored, paused: " in run("cluster", "restore", file, "--task", "copy", root=new).output
    assert Registry(zk, new).read("copy").record == Registry(zk, old).read("copy").record
    assert run("cluster", "restore", file, "--overwrite").exit_code, "nobody can be asked"
    assert "copy restored" in run("cluster", "restore", file, "--overwrite", "-y").output

    log = tmp_path / "core.log"
    log.write_text(f"started\nlogin with password={MARKER}\n")
    bundle = tmp_path / "bundle.zip"
    done = run("bundle", "copy", "--file", str(bundle), "--log", str(log), "--url", "http://127.0.0.1:9")
    assert str(bundle) in done.output and "http/1-metrics.txt" in done.output, done.exception
    assert "tasks/copy/check.json: E1" in done.output, "the configuration of this test is none"
    with zipfile.ZipFile(bundle) as opened:
        texts = {name: opened.read(name).decode() for name in opened.namelist()}
    assert {"README.txt", "versions.json", "machines.json", "tasks/copy/configuration.json"} <= set(texts)
    assert "started" in texts["logs/1-core.log"] and old.task("copy") in texts["zookeeper/znodes.tsv"]
    assert not [name for name, text in texts.items() if MARKER in text]
