"""Tests run under `nohup`, too, where SIGINT is ignored from the start."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from dev.paths import TREE

_CHILD = """
import signal, subprocess, sys
def test_a_child_hears_ctrl_c():
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\\n"
"""
_IGNORING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"


def test_a_session_that_ignores_ctrl_c_starts_children_that_do_not(tmp_path: Path) -> None:
    (tmp_path / "test_child.py").write_text(_CHILD)
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", f"--rootdir={tmp_path}", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", _IGNORING, sys.executable, "-m", "pytest", *options],
        cwd=TREE,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
