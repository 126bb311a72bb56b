"""`python -m dev.soak --minutes M` or `--rounds N`: random faults under load; `--seed S` decides which and when."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dev.errors import DevError
from dev.servers.stack import Stack
from dev.soak.story import Story, say
from dev.soak.ways import DooredKafka


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, help="no fault begins later; default: 5, without --rounds")
    parser.add_argument("--rounds", type=int, help="so many faults at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--session-timeout", type=float, default=4.0, help="T of the Cores, seconds")
    parser.add_argument("--rate", type=float, default=40.0, help="transactions a second per writer")
    parser.add_argument("--rows-per-transaction", type=int, default=6, help="at most; half of it on average")
    parser.add_argument("--only", default="", help="only faults whose name contains this")
    parser.add_argument("--keep", action="store_true", help="save histories and logs also when nothing is wrong")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, interrupt)
    try:
        with (
            Stack(broker=DooredKafka(fast=True)) as stack,
            tempfile.TemporaryDirectory(prefix="mysql-replicator-soak-") as folder,
        ):
            name, t = "faults" if options.rounds else "soak", options.session_timeout
            story = Story(
                name,
                stack,
                Path(folder),
                options.seed,
                session_seconds=t,
                rate=options.rate,
                most_rows=options.rows_per_transaction,
            )
            try:
                story.begin()
                minutes = options.minutes or (math.inf if options.rounds else 5.0)
                story.run(time.monotonic() + minutes * 60, options.only, options.rounds)
                return story.end(keep=options.keep)
            finally:
                story.close()
    except KeyboardInterrupt:
        say("interrupted; everything is stopped")
        return 130
    except DevError as error:
        say(f"failed: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
