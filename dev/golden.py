"""`python -m dev.golden [SYSTEM...]`: compares records with those of Debezium, Maxwell and Canal.

Prints, by system and variation, how many records are equal, differ by a listed rule, or differ; ends with status 1 when
one differs.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

from dev.paths import TREE
from dev.progress import say
from dev.servers import MySQL
from replicator.errors import ReplicatorError
from replicator.host import access
from tests.golden.compare import System, Variation
from tests.golden.recording import Recordings

_FOLDER = TREE / "tests" / "golden"


def systems() -> dict[str, tuple[System, tuple[Variation, ...]]]:
    """Each `tests/golden/rules_NAME.py` is one."""
    modules = (importlib.import_module(f"tests.golden.{path.stem}") for path in sorted(_FOLDER.glob("rules_*.py")))
    return {module.SYSTEM.name: (module.SYSTEM, module.VARIATIONS) for module in modules}


def main(names: list[str]) -> int:
    known = systems()
    unknown = [name for name in names if name not in known]
    if unknown:
        say(f"no such system: {', '.join(unknown)}; there are {', '.join(known)}")
        return 2
    status = 0
    say(f"{'system':10}{'variation':34}{'equal':>7}{'by rule':>9}{'differ':>8}")
    with tempfile.TemporaryDirectory() as folder:
        access.default_file_sink_directory(Path(folder))
        recordings = Recordings(Path(folder), lambda: MySQL(fast=True).start())
        try:
            for name in names or known:
                system, variations = known[name]
                for variation in variations:
                    status |= _line(recordings, system, variation)
        finally:
            recordings.close()
    return status


def _line(recordings: Recordings, system: System, variation: Variation) -> int:
    head = f"{system.name:10}{variation.name:34}"
    try:
        report = recordings.report(system, variation)
    except ReplicatorError as error:
        say(f"{head}  stopped: {error}")
        return 1
    say(f"{head}{report.equal:7}{report.ruled:9}{len(report.different):8}")
    for text in report.different[:3]:
        say(f"    {text}")
    return 1 if report.different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
