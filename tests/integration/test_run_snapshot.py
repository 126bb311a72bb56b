"""`replicator run` orders snapshots of tables, on a real server."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dev.cluster import CLI
from dev.servers.database import Database
from tests.integration.test_snapshots import place
from tests.support.changes import fill

__all__ = ["place"]

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


class Runs:
    """Runs of one task into one file."""

    def __init__(self, server: Database, shop: str, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out.jsonl"
        source = {"type": "mysql", "port": server.port, "user": "replicator", "password": "env:TEST_PASSWORD"}
        self.task: dict[str, Any] = {
            "name": "copy",
            "source": source | {"tables": [f"{shop}.*"]},
            "sink": {"type": "stdout"},
        }

    def run(self, *options: str) -> str:
        """To the end of the log, or of the export. Returns what stderr has, "ok" in front if it ended well."""
        end = [] if "--snapshot-only" in options else ["--until-current"]
        (self.folder / "task.json").write_text(json.dumps(self.task))
        ended = subprocess.run(
            [str(CLI), "run", "-f", "task.json", *end, "--sink", f"file:{self.out}", *options],
            cwd=self.folder,
            env={**os.environ, "XDG_STATE_HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return ("ok " if ended.returncode == 0 else "") + ended.stderr

    def delivered(self) -> Counter[str]:
        """Of each table and operation."""
        lines = self.out.read_text().splitlines() if self.out.exists() else []
        values = [json.loads(json.loads(line)["value"] or "{}") for line in lines]
        return Counter(f"{value['source']['table']} {value['op']}" for value in values if "op" in value)


@pytest.mark.parametrize("place", ["mysql"], indirect=True)
def test_tables_are_ordered_and_added(place: tuple[Database, str], tmp_path: Path) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 50)
    fill(server, f"{shop}.other", 20)
    runs = Runs(server, shop, tmp_path)
    assert runs.run().startswith("ok") and not runs.delivered()
    assert "E2205" in runs.run("--snapshot", f"{shop}.item", "--snapshot", f"{shop}.nothing")
    told = runs.run("--snapshot", f"{shop}.item", "--where", "id < 30")
    assert told.startswith("ok"), told
    assert runs.delivered() == {"item r": 30}
    server.execute(f"INSERT INTO {shop}.item VALUES (90, 1, 'behind')")
    assert runs.run().startswith("ok") and runs.delivered() == {"item r": 30, "item c": 1}
    runs.task["source"] |= {"tables": [f"{shop}.item"], "snapshot": "initial"}
    assert runs.run().startswith("ok")
    assert "first run begins" in runs.run("--state", str(tmp_path / "new"), "--snapshot", f"{shop}.item")
    runs.task["source"]["tables"] = [f"{shop}.*"]
    told = runs.run()
    assert told.startswith("ok") and "tables added" in told, told
    assert runs.delivered() == {"item r": 30, "item c": 1, "other r": 20}


@pytest.mark.parametrize("place", ["mysql"], indirect=True)
def test_an_export_without_rows_is_not_a_success(place: tuple[Database, str], tmp_path: Path) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 50)
    fill(server, f"{shop}.other", 20)
    runs = Runs(server, shop, tmp_path)
    assert runs.run().startswith("ok")
    assert "started without a snapshot" in runs.run("--snapshot-only")
    assert runs.run("--snapshot", f"{shop}.item").startswith("ok")
    told = runs.run("--snapshot-only")
    assert "E5007" in told and "order-1 of this task is complete" in told and runs.delivered() == {"item r": 50}
    assert runs.run("--snapshot-only", "--snapshot", f"{shop}.item").startswith("ok")
    assert runs.delivered() == {"item r": 100}
    runs.out, state = tmp_path / "export.jsonl", ("--snapshot-only", "--state", str(tmp_path / "export"))
    told = runs.run(*state, "--quarantine", f"{shop}.item")
    assert "E5007" in told and f"left out. Found: {shop}.item" in told and runs.delivered() == {"other r": 20}
    assert runs.run(*state, "--release", f"{shop}.item").startswith("ok")
    assert runs.delivered() == {"other r": 20, "item r": 50}
    assert "initial of this task is complete" in runs.run(*state)
