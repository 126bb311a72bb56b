"""The measurement of a fleet works from end to end, over so few tasks that its figures are of no interest here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dev.bench.report import read
from dev.paths import TREE

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]


def test_a_tiny_fleet(tmp_path: Path) -> None:
    output = tmp_path / "fleet.json"
    arguments = ["--tasks", "6", "--cores", "2", "--zookeepers", "1", "--seconds", "1", "--tries", "1"]
    command = [sys.executable, "-m", "dev.fleet", *arguments, "--output", str(output)]
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stderr
    found = read(output)
    assert found["many.takeover_tasks"].value == 3
    assert all(found[f"many.{name}"].value for name in ("list_ms", "page_kb", "server_requests_per_s", "watches"))
