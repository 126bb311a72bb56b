"""`python -m dev.mutants [WORD]`: removes each guard in a copy of the sources and runs the tests that must notice.

WORD: only guards whose name or file has it. Prints which test noticed, and keeps it in build/mutants.json, for
`python -m dev.faults`. Exit status 1 when a guard's removal is not noticed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dev.mutants.found import Found, joined, read, write
from dev.mutants.guard import Guard
from dev.mutants.guards import GUARDS

ROOT = Path(__file__).parents[2]
COPIED = ("replicator", "core", "server", "monitor", "dev", "tests", "docs", "pyproject.toml", "setup.py", "README.md")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_BUILT = (".pyx", ".pxd")
_MINUTES = 10


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    survivors: list[str] = []
    found: list[Found] = []
    with tempfile.TemporaryDirectory(prefix="mysql-replicator-mutants-") as folder:
        copy = Path(folder)
        _copy(copy)
        guards = [guard for guard in GUARDS if word in guard.name or word in guard.file]
        for guard in guards:
            began = time.monotonic()
            killer = killed_by(guard, copy)
            found.append(Found(guard.name, guard.file, killer))
            seconds = time.monotonic() - began
            print(f"{'killed  ' if killer else 'SURVIVES'} {guard.name} ({seconds:.0f} s)")
            print(f"         {killer or guard.file}", flush=True)
            if not killer:
                survivors.append(guard.name)
    write(joined(read(), found))
    print(f"mutants: {len(guards)} guards removed, {len(guards) - len(survivors)} noticed, {len(survivors)} survive")
    return 1 if survivors else 0


def _copy(target: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy(source, target / name)


def without(guard: Guard, text: str) -> str:
    """The source without the guard. Raises ValueError when its text is not there, or there twice."""
    if text.count(guard.old) != 1:
        raise ValueError(f"{guard.file} has the text of '{guard.name}' {text.count(guard.old)} times")
    return text.replace(guard.old, guard.new)


def killed_by(guard: Guard, copy: Path) -> str:
    """The first test that fails without the guard; "" when none does."""
    file = copy / guard.file
    original = file.read_text()
    file.write_text(without(guard, original))
    built = {path: path.read_bytes() for path in file.parent.glob("*.so")} if file.suffix in _BUILT else {}
    try:
        if file.suffix in _BUILT:
            _build(copy)
        for test in guard.tests:
            found = _red(test, copy, compiled=guard.compiled)
            if found:
                return found
        return ""
    finally:
        file.write_text(original)
        for path, module in built.items():
            path.unlink()  # a loaded module is never written over
            path.write_bytes(module)


def _build(copy: Path) -> None:
    """Raises SystemExit when the compiled modules can't be built."""
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=_MINUTES * 60, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the compiled modules can't be built without a guard:\n{done.stderr[-2000:]}")


def _red(test: str, copy: Path, *, compiled: bool) -> str:
    # Else the compiled decoder, a twin of the sources that are changed, would hide what is missing.
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["REPLICATOR_COMPILED"] = "1" if compiled else "0"
    command = [sys.executable, "-m", "pytest", test, "-q", "-x", "-p", "no:cacheprovider", "--no-header"]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=_MINUTES * 60, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{test} (hangs)"
    if done.returncode not in (0, 1):
        raise SystemExit(f"the tests of a guard can't run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    match = _FAILED.search(done.stdout)
    return match[1] if match else ""


if __name__ == "__main__":
    sys.exit(main())
