"""`python -m dev.locks [--seconds N]`: measures, and writes docs/locks.md."""

from __future__ import annotations

import argparse
import os

from dev.locks.faults import FAULTS, run
from dev.locks.page import SYSTEMS, page
from dev.locks.speed import OWNERS, measure
from dev.paths import TREE
from dev.progress import say


def main() -> int:
    parser = argparse.ArgumentParser(prog="make locks")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement of the speed")
    seconds = parser.parse_args().seconds
    outcomes, speeds = [], []
    for fault in FAULTS:
        for system in SYSTEMS:
            outcomes.append(run(system, fault))
            say(str(outcomes[-1]))
    load = os.getloadavg()[0]
    for owners in (1, OWNERS):
        for system in SYSTEMS:
            speeds.append(measure(system, owners, seconds))
            say(str(speeds[-1]))
    (TREE / "docs" / "locks.md").write_text(page(speeds, outcomes, seconds, load))
    say("wrote docs/locks.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
