"""`python -m dev.pythons [VERSION...]`: the unit tests on each other supported Python that this machine has.

Each runs in a copy of the tree under build/, with a virtual environment of its own from the same lock file and compiled
modules of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dev.paths import TREE
from dev.progress import say, step

OLDEST, NEWEST = (3, 11), (3, 13)
"""That pyproject.toml declares: those that these tests have passed on."""
_NAME = re.compile(r"python(3)\.(\d+)$")


def main(versions: list[str]) -> int:
    found = interpreters(_folders())
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    wanted = versions or [version for version in found if version != running]
    missing = [version for version in wanted if version not in found]
    if missing:
        say(f"not on this machine: Python {', '.join(missing)}; there are {', '.join(found) or 'none'}")
        return 2
    if not wanted:
        say(f"this machine has no supported Python besides {running}")
    failed = [version for version in wanted if _test(version, found[version]) != 0]
    if failed:
        say(f"unit tests FAILED on Python {', '.join(failed)}")
    return 1 if failed else 0


def interpreters(folders: list[Path]) -> dict[str, Path]:
    """Version ("3.12") -> program, for each supported Python in these folders. Those that do not start are left out,
    as are pyenv's shims for versions that are not active."""
    found: dict[str, Path] = {}
    for folder in folders:
        for program in sorted(folder.glob("python3.*")):
            name = _NAME.match(program.name)
            if name is None or not OLDEST <= (int(name[1]), int(name[2])) <= NEWEST:
                continue
            version = f"{name[1]}.{name[2]}"
            if version not in found and _starts(program):
                found[version] = program
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(".")[1])))


def _folders() -> list[Path]:
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    on_path = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    return [*on_path, *sorted(versions.glob("*/bin"))]


def _starts(program: Path) -> bool:
    command = [str(program), "-c", "import venv, ensurepip"]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _test(version: str, program: Path) -> int:
    tree = TREE / "build" / f"python-{version}"
    _copy(tree)
    with step(f"Python {version}: setting up {tree.relative_to(TREE)}"):
        done = subprocess.run([str(program), "dev/bootstrap.py"], cwd=tree, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        return done.returncode
    tests = [str(tree / ".venv" / "bin" / "python"), "-m", "pytest", "-q", "--numprocesses=2", "tests/unit"]
    with step(f"Python {version}: unit tests"):
        return subprocess.run(tests, cwd=tree, stdin=subprocess.DEVNULL, check=False).returncode


def _copy(tree: Path) -> None:
    """The files that git knows, as they are in the working tree; the copy's own environment stays."""
    listed = ["git", "-C", str(TREE), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    present = {name for name in names if name and (TREE / name).is_file()}
    if tree.exists():
        for old in tree.rglob("*"):
            name = old.relative_to(tree).as_posix()
            kept = name.startswith((".venv/", "build/")) or old.suffix == ".so"
            if old.is_file() and not kept and name not in present:
                old.unlink()
    for name in present:
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TREE / name, target, follow_symlinks=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
