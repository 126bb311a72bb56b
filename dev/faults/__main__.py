"""`python -m dev.faults`: takes what the last runs left in build/ into docs/faults.json, and writes docs/faults.md.

Of the failover tests: faults/results.json. Of the nemesis: soak/outcome.json and faults/outcome.json, and the picture.
Of `dev.faults.smallest` and `dev.mutants`: faults/smallest.json and mutants.json. What did not run stays as it was,
with its date. `--from FOLDER`: another build folder.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import msgspec

from dev.faults import known
from dev.faults.page import PICTURE, named_by_row, page
from dev.faults.smallest import Run
from dev.mutants.found import Found, joined
from dev.paths import TREE
from dev.progress import say
from dev.soak.outcome import Outcome


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m dev.faults", description=__doc__)
    parser.add_argument("--from", dest="build", type=Path, default=TREE / "build", help="where runs left their results")
    build = parser.parse_args().build
    facts = known.read()
    names = {name for tests in named_by_row().values() for name in tests}
    if (latest := build / "faults" / "results.json").exists():
        facts.tests |= msgspec.json.decode(latest.read_bytes(), type=dict[str, known.Result])
    facts.tests = {name: result for name, result in sorted(facts.tests.items()) if name in names}
    for folder in (build / "soak", build / "faults"):
        if (latest := folder / "outcome.json").exists():
            _take(facts, folder, msgspec.json.decode(latest.read_bytes(), type=Outcome))
    if (latest := build / "faults" / "smallest.json").exists():
        facts.smallest = msgspec.json.decode(latest.read_bytes(), type=Run)
    if (latest := build / "mutants.json").exists():
        facts.mutants = joined(facts.mutants, msgspec.json.decode(latest.read_bytes(), type=list[Found]))
    known.write(facts)
    (TREE / "docs" / "faults.md").write_text(page(facts))
    say(f"docs/faults.md: {len(facts.tests)} tests, {len(facts.soaks)} runs of the nemesis")


def _take(facts: known.Known, folder: Path, outcome: Outcome) -> None:
    """The run with the most rows is the one whose picture is shown."""
    if outcome in facts.soaks:
        return
    if outcome.rows >= max((one.rows for one in facts.soaks), default=0) and (folder / "takeover.png").exists():
        shutil.copy(folder / "takeover.png", PICTURE)
    facts.soaks = [*facts.soaks, outcome]


if __name__ == "__main__":
    main()
