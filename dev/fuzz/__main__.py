"""`python -m dev.fuzz [--minutes M] [--seed S]`: mutates recorded binlogs and gives them to both decoders.

What is found is written to build/fuzz; `python -m dev.fuzz FILE...` runs such files again, and those that were worth
keeping stand in tests/data/fuzz, where the unit tests run them.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import replace
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["replicator.decode", "replicator.encode"]):
    from dev.fuzz.check import check

from dev.fuzz.bend import FORMS, bent
from dev.fuzz.case import Case
from dev.fuzz.seeds import KEPT, seeds
from dev.paths import TREE
from dev.progress import say

_SECONDS = 20
"""A case that takes longer hangs."""
_MEGABYTES = 2048


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    for path in options.files:
        check(Case.parse(path.read_bytes()))
    if options.files:
        say(f"{len(options.files)} cases hold")
        return 0
    folder = TREE / "build" / "fuzz"
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    known = list(seeds())
    for number, case in enumerate(known):
        (corpus / f"seed-{number}").write_bytes(replace(case, form=number % FORMS).pack())
    say(f"{len(known)} seeds; what is found goes to {folder}")
    arguments = [
        sys.argv[0], str(corpus), str(KEPT), f"-max_total_time={int(60 * options.minutes)}", f"-seed={options.seed}",
        f"-artifact_prefix={folder}/", f"-timeout={_SECONDS}", f"-rss_limit_mb={_MEGABYTES}", "-max_len=20000",
        "-print_final_stats=1", "-len_control=0",
    ]  # fmt: skip
    atheris.Setup(arguments, _run, custom_mutator=_Mutator(known))
    atheris.Fuzz()
    return 0


def _run(data: bytes) -> None:
    check(Case.parse(data))


class _Mutator:
    def __init__(self, known: list[Case]) -> None:
        self._known = known

    def __call__(self, data: bytes, most: int, seed: int) -> bytes:
        dice = random.Random(seed)
        case = Case.parse(data)
        for _ in range(dice.choice((1, 1, 2, 4))):
            case = bent(case, dice, atheris.Mutate, self._known)
        packed = case.pack()
        return packed if len(packed) <= most else data


if __name__ == "__main__":
    sys.exit(main())
