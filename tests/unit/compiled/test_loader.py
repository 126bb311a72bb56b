"""Which decoder runs, and that it says so."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from replicator import compiled
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder, decoder_class
from replicator.decode.native.compiled_decoder import _tell as told
from replicator.model.position import Position
from tests.unit.compiled import both as pair

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


@pytest.mark.parametrize("form", pair.FORMATS)
def test_what_is_emitted_does_not_depend_on_it(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(path for path in pair.recordings() if path.name.startswith("mysql_orders"))

    def emitted() -> tuple[type, Any]:
        kind = decoder_class()
        decoder = pair.decoder(kind, form, "mysql", "file", Position("binlog.000001", 4))
        return kind, pair.told(decoder, [pair.read(path)])

    kind, ours = emitted()
    assert kind is CompiledDecoder
    for spoil in (
        lambda: monkeypatch.setitem(sys.modules, "replicator.compiled.program", None),
        lambda: monkeypatch.setenv("REPLICATOR_COMPILED", "0"),
    ):
        spoil()
        compiled._load.cache_clear()
        assert emitted() == (BinlogDecoder, ours)


def test_it_is_told_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    with caplog.at_level(logging.INFO):
        for spoiled in ("", "0"):
            monkeypatch.setenv("REPLICATOR_COMPILED", spoiled)
            compiled._load.cache_clear()
            told.cache_clear()
            for _ in range(3):
                decoder_class()
    assert [(record.levelname, "REPLICATOR_COMPILED=0" in record.message) for record in caplog.records] == [
        ("INFO", False),
        ("WARNING", True),
    ]


def test_version_tells() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "replicator.cli.main", "version", "-o", "json"],
        env={**os.environ, "REPLICATOR_COMPILED": "0"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "REPLICATOR_COMPILED=0" in json.loads(done.stdout)["decoder"]
