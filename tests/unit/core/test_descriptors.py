"""The limit of open files: raised up to the hard one, and refused where that is too low."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SCRIPT = (
    "import resource, sys; from core.descriptors import provide\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))\n"
    "try: provide()\n"
    "except Exception as error: print(error.code, error.found)\n"
    "else: print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
)


@pytest.mark.parametrize(
    ("soft", "hard", "printed"),
    [
        (20, 20, "E5019 20 open files"),
        (63, 63, "E5019 63 open files"),
        (64, 64, "64 64"),
        (20, 300, "300 300"),
        (20, 30, "E5019 30 open files"),
    ],
)
def test_a_limit(soft: int, hard: int, printed: str) -> None:
    command = [sys.executable, "-c", _SCRIPT, str(soft), str(hard)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == printed, done.stderr
