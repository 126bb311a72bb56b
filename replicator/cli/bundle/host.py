"""Parts of a support bundle that this host has: versions, limits, tails of log files, answers of servers."""

from __future__ import annotations

import os
import platform
import resource
import socket
import time
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final

import httpx

from replicator import compiled
from replicator.host.addresses import HostPort

_LOG_BYTES: Final = 512 << 10
_ANSWER_BYTES: Final = 2 << 20
_SECONDS: Final = 3.0


def versions() -> dict[str, Any]:
    found = {each.metadata["Name"]: each.version for each in distributions()}
    return {
        "python": platform.python_version(),
        "decoder": compiled.describe(),
        "packages": dict(sorted(found.items())),
    }


def host() -> dict[str, Any]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": socket.gethostname(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg(),
        "open_files": {"soft": soft, "hard": hard},
    }


def log_tail(path: Path) -> str:
    """The last lines of a log file."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LOG_BYTES))
        lines = file.read(_LOG_BYTES)
    return (lines.partition(b"\n")[2] if size > _LOG_BYTES else lines).decode(errors="replace")


def page(url: str) -> str:
    """What a process answers without a login."""
    with httpx.stream("GET", url, timeout=_SECONDS, follow_redirects=False) as answer:
        answer.raise_for_status()
        body, until = b"", time.monotonic() + _SECONDS
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > _ANSWER_BYTES or time.monotonic() > until:
                break
    return body.decode(errors="replace")


def zookeeper_command(server: HostPort, command: str) -> str:
    """The answer to `srvr`, `mntr` and the like; servers allow them by `4lw.commands.whitelist`."""
    with socket.create_connection((server.host, server.port), _SECONDS) as connection:
        connection.settimeout(_SECONDS)
        connection.sendall(command.encode())
        body = b""
        while (piece := connection.recv(65536)) and len(body) < _ANSWER_BYTES:
            body += piece
    return body.decode(errors="replace")
