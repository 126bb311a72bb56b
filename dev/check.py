"""`python -m dev.check [STEP...]`: the steps of `make test`, in order, stopping at the first that fails.

All test suites run in one pytest session with three workers, whole files at a time: half of it is waiting, for
elections, restarts and time-outs. Each worker starts its own servers, once; one summary counts every test. A few tests
that fail beside others are run once more alone. Those that pass then are named at the end; CI counts them as failed if
they are many or unit tests (dev/reruns.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from dev.errors import DevError
from dev.fetch.__main__ import main as fetch
from dev.fetch.jars import OLDER_KAFKA
from dev.fetch.releases import OLDER
from dev.paths import TREE
from dev.progress import say
from dev.reruns import listed, report

_BIN = Path(sys.executable).parent
_PYTEST = [sys.executable, "-m", "pytest"]
_LAST_FAILED = TREE / ".pytest_cache/v/cache/lastfailed"
_JUNIT = f"--junitxml={TREE / 'build' / 'tests.xml'}"  # every test and its seconds
_TESTS_FAILED = 1  # pytest's exit status
_MOST_AGAIN = 6
_WORKERS = ["--numprocesses=3", "--dist=loadfile", "--no-loadscope-reorder", "-q"]  # in the order of tests/conftest.py
SUITES = (
    "failover",
    "integration",
    "conformance",
    "golden",
    "security",
    "benchmarks",
    "unit",
)

STEPS: dict[str, list[str]] = {
    "format": [str(_BIN / "ruff"), "format", "--check", "."],
    "lint": [str(_BIN / "ruff"), "check", "."],
    "supply": [sys.executable, "-m", "dev.supply"],
    "types": [str(_BIN / "mypy")],
    "imports": [str(_BIN / "lint-imports"), "--no-cache"],
    "tests": [
        *_PYTEST,
        *(f"tests/{suite}" for suite in SUITES),
        *_WORKERS,
        _JUNIT,
        "--durations=25",
        "--durations-min=5",
    ],
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        say(f"no such step: {', '.join(unknown)}; there are {', '.join(STEPS)}")
        return 2
    begun = time.monotonic()
    known = listed()
    notes: list[str] = []
    for name in names or list(STEPS):
        status = _fetch_servers() if name == "tests" else 0
        if name == "tests":
            _LAST_FAILED.unlink(missing_ok=True)  # of other runs
        status = status or _run(name)
        if name == "tests" and status == _TESTS_FAILED:
            status, notes = _again_alone(known)
        if status != 0:
            say(f"{name} FAILED; later steps were not run")
            return status
    say(f"every step passed in {time.monotonic() - begun:.0f} s")
    for line in notes:
        say(line)
    return 0


def _run(name: str) -> int:
    command = STEPS[name]
    say(f"step {name}: {' '.join(Path(word).name if word.startswith('/') else word for word in command)}")
    begun = time.monotonic()
    status = subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, env=_environment(), check=False).returncode
    say(f"step {name}: {'passed' if status == 0 else f'exit {status}'} after {time.monotonic() - begun:.1f} s")
    return status


def _environment() -> dict[str, str]:
    """Ours, with compiled modules kept on disk: else each worker compiles all tests, each process what has changed."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _again_alone(known: dict[str, str]) -> tuple[int, list[str]]:
    """(status, lines to show at the end) of a second run of the tests that failed."""
    failed = _last_failed()
    if not 0 < len(failed) <= _MOST_AGAIN:
        return _TESTS_FAILED, []
    say(f"{len(failed)} failed beside others and run once more, alone: {', '.join(failed)}")
    command = [*_PYTEST, "-q", *failed]
    status = subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, env=_environment(), check=False).returncode
    again = _last_failed() if status == _TESTS_FAILED else []
    lines, refused = report([test for test in failed if test not in again], known, ci=os.environ.get("CI") == "true")
    if status != 0 or refused:
        for line in lines:
            say(line)
        return status or _TESTS_FAILED, []
    return 0, lines


def _last_failed() -> list[str]:
    """Names of the tests that failed in the last session."""
    try:
        return sorted(json.loads(_LAST_FAILED.read_text()))
    except (OSError, ValueError):
        return []


def _fetch_servers() -> int:
    """Outside pytest, so under no test's time limit. What cannot be had skips tests here and fails in CI."""
    older_kafka = (f"kafka-{version}" for version in OLDER_KAFKA)
    for name in ("zookeeper", "kafka", *older_kafka, "mysql", "mariadb", *(release.name for release in OLDER)):
        try:
            status = fetch([name])
        except DevError as error:
            say(str(error))
            status = 1
        if status != 0 and os.environ.get("CI") == "true":
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
