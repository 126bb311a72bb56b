"""The benchmark itself works from end to end; its figures are of no interest here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dev.bench import report
from dev.bench.sections import REQUIRED
from dev.paths import TREE


@pytest.mark.timeout(300)
def test_a_tiny_run_leaves_every_figure_of_its_parts(tmp_path: Path) -> None:
    output = tmp_path / "bench.json"
    command = [sys.executable, "-m", "dev.bench", "--size", "small", "--runs", "1", "--only", "tx10000"]
    done = subprocess.run([*command, "--output", str(output)], cwd=TREE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = report.read(output)
    assert found.keys() >= REQUIRED.keys()
    for name in ("plain.tx10000", "raw.tx10000", "cpu_us.debezium.tx10000", "cpu_us.maxwell.tx10000"):
        assert found[name].value, name
    assert found["debezium.tx1"].value is None
    assert "PEERS=1" in found["debezium.tx1"].reason
