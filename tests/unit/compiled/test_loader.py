"""Which decoder runs, and that it says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from replicator import compiled

_ASK = "from replicator import compiled as c; print(c.available(), c.why_not(), sep='|')"


def ask(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _ASK], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_it_can_be_switched_off() -> None:
    assert ask(REPLICATOR_COMPILED="0").stdout == "False|switched off by REPLICATOR_COMPILED=0\n"


def test_it_can_be_demanded() -> None:
    assert ask(REPLICATOR_COMPILED="1").stdout == "True|\n"


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("REPLICATOR_COMPILED", raising=False)
    compiled._load.cache_clear()
    yield
    compiled._load.cache_clear()


def test_a_module_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.module("kafka"), "ABI", compiled.ABI - 1)
    compiled._load.cache_clear()
    assert not compiled.available()
    assert "built for another version" in compiled.why_not()
    assert "Python" in compiled.describe()


def test_a_missing_module_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled._load.cache_clear()
    monkeypatch.setitem(sys.modules, "replicator.compiled.loop", None)
    assert not compiled.available()
    compiled._load.cache_clear()
    monkeypatch.setenv("REPLICATOR_COMPILED", "1")
    with pytest.raises(ImportError):
        compiled.available()


def test_version_tells() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "replicator.cli.main", "version", "-o", "json"],
        env={**os.environ, "REPLICATOR_COMPILED": "0"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "REPLICATOR_COMPILED=0" in json.loads(done.stdout)["decoder"]
