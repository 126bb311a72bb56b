"""`python -m dev.wheel`: builds dist/*.whl, and checks that it has the compiled decoder and the documentation."""

from __future__ import annotations

import subprocess
import sys
import zipfile

from dev.paths import TREE
from dev.progress import say


def main() -> int:
    command = [
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        "dist",
    ]
    done = subprocess.run([*command, "."], cwd=TREE, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        return done.returncode
    newest = max((TREE / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    with zipfile.ZipFile(newest) as wheel:
        names = set(wheel.namelist())
    missing = {f"replicator/{path.relative_to(TREE)}" for path in (TREE / "docs").glob("*.md")} - names
    if missing:
        say(f"dist/{newest.name}: pages are missing: {', '.join(sorted(missing))}")
        return 1
    modules = [name for name in names if name.startswith("replicator/compiled/") and name.endswith(".so")]
    wanted = len(list((TREE / "replicator" / "compiled").glob("*.pyx")))
    if len(modules) == wanted:
        say(f"dist/{newest.name}: with the compiled decoder")
        return 0
    say(f"dist/{newest.name}: the decoder runs in Python, as it could not be compiled here")
    return 1


if __name__ == "__main__":
    sys.exit(main())
