"""`python -m dev.faults`: takes the results of the last failover run (build/faults/results.json) into docs/faults.json
and writes docs/faults.md anew. Results of tests that did not run stay as they were, with their date."""

from __future__ import annotations

import msgspec

from dev.faults.page import RESULTS, Result, named_by_row, page, results
from dev.paths import TREE
from dev.progress import say

LATEST = TREE / "build" / "faults" / "results.json"


def main() -> None:
    names = {name for tests in named_by_row().values() for name in tests}
    latest = msgspec.json.decode(LATEST.read_bytes(), type=dict[str, Result])
    merged = {name: result for name, result in sorted({**results(), **latest}.items()) if name in names}
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(merged), indent=2) + b"\n")
    (TREE / "docs" / "faults.md").write_text(page())
    say(f"{len(latest)} results taken, {len(merged)} known")


if __name__ == "__main__":
    main()
