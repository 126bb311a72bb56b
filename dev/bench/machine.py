"""Describes the machine on which the figures were measured."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from dev.bench.report import Entry, fact
from dev.bench.runner import Runner
from dev.fetch.jars import KAFKA
from dev.paths import TREE
from replicator import compiled


def facts(runner: Runner, options: argparse.Namespace) -> Iterator[Entry]:
    row = runner.database.execute("SELECT VERSION()")[0][0]
    packages = ("kafka-python", "mysql-replication", "PyMySQL", "crc32c")
    command = f"python -m dev.bench --size {options.size} --runs {options.runs}"
    yield fact("fact.when", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    yield fact(
        "fact.machine", f"{_processor()}, {os.cpu_count()} cores, {_memory():.0f} GB, Linux {platform.release()}"
    )
    yield fact("fact.load", f"{os.getloadavg()[1]:.1f} (average of five minutes when it began)")
    yield fact("fact.servers", f"{runner.database.name} {row}, Kafka {KAFKA}, on the same machine, data on a tmpfs")
    found = ", ".join(f"{name} {version(name)}" for name in packages)
    yield fact("fact.packages", f"Python {platform.python_version()}, {found}")
    yield fact("fact.decoder", compiled.describe())
    yield fact("fact.revision", _revision())
    yield fact("fact.command", command + (" --peers" if options.peers else ""))


def summary() -> str:
    """When, where and of which revision, for a part that is measured by itself."""
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    load = f"load {os.getloadavg()[1]:.1f} before it"
    return f"Measured {when}, {_processor()}, {os.cpu_count()} cores, revision {_revision()}, {load}."


def steal() -> Callable[[], float]:
    """What says which share of the processors, in percent, the virtual machine's host has taken since now."""
    began = _ticks()

    def since() -> float:
        stolen, whole = (now - before for now, before in zip(_ticks(), began, strict=True))
        return 100 * stolen / max(1, whole)

    return since


def _ticks() -> tuple[int, int]:
    """(stolen, all)."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def _revision() -> str:
    command = ["git", "-C", str(TREE), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "not a git tree"
