"""Tests that fail in parallel runs and pass alone: the list that CI accepts, and their report at the end of `make
test`."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev.errors import DevError
from dev.paths import TREE

LISTED = TREE / "dev" / "reruns.toml"
FEW = 3
"""So many tests with real servers of one run may pass only alone in CI without being listed: of thousands that are run
on two busy processors one or two have a limit that is too short. They are named all the same, and are to be mended."""


def listed(file: Path = LISTED) -> dict[str, str]:
    """Test -> why it may need a second run. Raises DevError for an entry without a test, a date, or a reason."""
    entries = tomllib.loads(file.read_text()).get("rerun", [])
    for entry in entries:
        test, since, reason = entry.get("test"), entry.get("since"), entry.get("reason")
        if not (test and isinstance(since, datetime.date) and reason):
            raise DevError(f"{file.name}: each [[rerun]] needs test, since (a date) and reason; found {entry}")
    return {entry["test"]: f"{entry['reason']} (since {entry['since']})" for entry in entries}


def report(passed_alone: Sequence[str], known: Mapping[str, str], *, ci: bool) -> tuple[list[str], bool]:
    """(lines for the end of the run, whether the run counts as failed).

    A test that passes only alone is a finding, and named. CI refuses more than `FEW` that are not listed, and any of a
    unit test, which no other process can disturb.
    """
    if not passed_alone:
        return [], False
    lines = [f"{len(passed_alone)} failed beside others and passed alone:"]
    for test in passed_alone:
        lines.append(f"  {test}: {known.get(test, f'not listed in {LISTED.name}')}")
    unlisted = [test for test in passed_alone if test not in known]
    if not unlisted:
        return lines, False
    refused = ci and (len(unlisted) > FEW or any(test.startswith("tests/unit/") for test in unlisted))
    lines.append("mend them, or list them with the reason" + (": CI counts them as failed" if refused else ""))
    return lines, refused
