"""The socket between a Core and its template process: where multiprocessing creates it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.socket_folder import choose, socket_folder
from replicator.errors import ProcessError

LONGEST = 75
"""Bytes of a folder's path: with '/pymp-12345678/listener-12345678' it is 107."""
_START = "from core.launcher import Launcher; launcher = Launcher(); launcher.warm(); launcher.close()"


@pytest.fixture
def folders() -> Iterator[tuple[str, str]]:
    """One whose path is as long as it may be, and one that is a byte longer."""
    with tempfile.TemporaryDirectory(dir="/tmp") as base:
        made = []
        for length in (LONGEST, LONGEST + 1):
            path = Path(base, "x" * (length - len(base) - 1))
            path.mkdir()
            made.append(str(path))
        yield made[0], made[1]


def test_the_first_whose_path_is_short_enough(folders: tuple[str, str]) -> None:
    fits, too_long = folders
    assert choose([too_long, fits, "/tmp"]) == fits


def test_one_that_cannot_be_written_to_is_passed_over(folders: tuple[str, str]) -> None:
    assert choose(["/proc", "/nowhere", folders[0]]) == folders[0]


def test_none_is_an_error_that_says_what_to_set(folders: tuple[str, str]) -> None:
    with pytest.raises(ProcessError, match="E5018") as error:
        choose([folders[1], "/nowhere"])
    assert str(LONGEST) in error.value.wanted and "TMPDIR" in error.value.fix
    assert error.value.found == f"{folders[1]}: its path has {LONGEST + 1} bytes; /nowhere: No such file or directory"


def test_a_process_that_can_open_no_file_is_told_so_and_not_of_folders() -> None:
    """It depends on the descriptors that are free at that moment which of its files is the first that fails."""
    script = (
        "import os, resource, sys; from core.socket_folder import choose; free = os.open('/dev/null', os.O_RDONLY)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, free + 1))\n"
        "try: choose(['/tmp', '/var/tmp'])\n"
        "except OSError as error: sys.exit(error.errno)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == errno.EMFILE, done.stderr


def test_systemd_s_folder_comes_first(folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", f"{folders[1]}:{folders[0]}")
    before = tempfile.gettempdir()
    with socket_folder():
        assert tempfile.gettempdir() == folders[0]
    assert tempfile.gettempdir() == before


def test_a_template_starts_under_a_long_tmpdir(folders: tuple[str, str]) -> None:
    environment = {**os.environ, "TMPDIR": folders[1]}
    done = subprocess.run([sys.executable, "-c", _START], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
