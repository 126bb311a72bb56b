"""`python -m dev.wheel`: builds dist/*.whl and says whether it carries the compiled decoder."""

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
        modules = [
            name for name in wheel.namelist() if name.startswith("replicator/compiled/") and name.endswith(".so")
        ]
    wanted = len(list((TREE / "replicator" / "compiled").glob("*.pyx")))
    if len(modules) == wanted:
        say(f"dist/{newest.name}: with the compiled decoder")
        return 0
    say(f"dist/{newest.name}: the decoder runs in Python, as it could not be compiled here")
    return 1


if __name__ == "__main__":
    sys.exit(main())
