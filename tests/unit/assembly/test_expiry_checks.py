"""What a task's configuration alone tells of its future."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dev.servers.authority import Authority
from dev.servers.ports import free_port
from replicator.assembly.expiry_checks import ExpiryReport, check_expiry
from replicator.config.load import parse_task


def config(tls: dict[str, Any], registry: dict[str, Any] | None = None) -> Any:
    source = {"type": "mysql", "port": free_port(), "user": "u", "password": "env:OUTLOOK_PASSWORD", "tables": ["s.*"]}
    avro = {"converter": "avro", "schema_registry": {"url": "https://127.0.0.1:1", "tls": registry}}
    sink = {"type": "stdout", **({"debezium": avro} if registry is not None else {})}
    return parse_task({"name": "t", "source": {**source, **({"tls": tls} if tls else {})}, "sink": sink})


def test_the_first_file_that_ends_while_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLOOK_PASSWORD", "x")
    authority = Authority(tmp_path, "ours")
    long, key = authority.leaf("127.0.0.1", timedelta(days=90))
    short, _ = authority.leaf("127.0.0.2", timedelta(minutes=30))
    assert check_expiry(config({})) == ExpiryReport()
    assert check_expiry(config({"ca": str(authority.ca), "cert": str(long), "key": str(key)})).certificate == str(
        authority.ca
    )
    assert check_expiry(config({"ca": str(authority.ca)}, {"ca": str(short)})).certificate == str(short)
