"""`python -m dev.bench.versus REV`: this tree against a revision, run by run on the same binlog and Kafka.

Servers and load are this tree's. Each run is a process that reads a `job.Job` as JSON and answers with a `job.Outcome`
(`python -m dev.bench.job`): that of the revision comes from the revision, as only it knows the names of its modules.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dev.bench.command import SIZES, start_servers
from dev.bench.load import Load, Segment
from dev.bench.runner import Runner
from dev.bench.sections import FORMATS, spread
from dev.errors import DevError
from dev.paths import TREE
from dev.progress import say, step


@contextlib.contextmanager
def revision(name: str) -> Iterator[Path]:
    """A folder with that revision, compiled. Raises DevError where it has no job to run."""
    with tempfile.TemporaryDirectory(prefix="mysql-replicator-base-") as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(TREE), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), name], check=True)
        try:
            if not (tree / "dev" / "bench" / "job.py").exists():
                raise DevError(f"{name} has no dev/bench/job.py, which runs one measurement")
            if (tree / "setup.py").exists():
                with step(f"compiling {name}"):
                    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
                    subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.bench.versus", description=__doc__)
    parser.add_argument("base", help="revision to compare with")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--size", choices=SIZES, default="default")
    options = parser.parse_args()
    with revision(options.base) as tree, contextlib.ExitStack() as servers:
        database, kafka = start_servers()
        servers.callback(kafka.close)
        servers.callback(database.close)
        load = Load(database)
        load.prepare()
        scale = SIZES[options.size]
        segments = {
            "tx1": load.mixed("tx1", max(int(200_000 * scale), 100), 1),
            "tx10000": load.mixed("tx10000", max(int(60 * scale), 4) * 10_000, 10_000),
        }
        runner = Runner(database, kafka)
        print(
            f"{'':<20}{'rate, this/base':>32}{'CPU per row, this/base':>32}   lowest median highest of {options.runs}"
        )
        for (size, segment), form in ((each, form) for each in segments.items() for form in FORMATS):
            print(line(f"{form} {size}", *pairs(runner, segment, form, tree, options.runs)), flush=True)
    return 0


Pairs = tuple[list[float], list[float]]


def pairs(runner: Runner, segment: Segment, form: str, tree: Path, runs: int) -> tuple[Pairs, Pairs]:
    """(ours, base) of rates and of CPU per row; which one goes first alternates."""
    rates: Pairs = ([], [])
    cpu: Pairs = ([], [])
    for number in range(runs):
        order = (0, 1) if number % 2 else (1, 0)
        for side in order:
            outcome = runner.run("ours", segment, tree=tree if side else TREE, format=form)
            rates[side].append(outcome.rate)
            cpu[side].append(outcome.cpu_us)
    return rates, cpu


def line(name: str, rates: Pairs, cpu: Pairs) -> str:
    cells = "".join(f"{'  '.join(f'{value:.3f}' for value in spread(*each)):>32}" for each in (rates, cpu))
    return f"{name:<20}{cells}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DevError as error:
        say(str(error))
        sys.exit(1)
