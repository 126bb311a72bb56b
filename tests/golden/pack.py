"""`python -m tests.golden.pack SOURCE TARGET`: captured records -> what the tests need of them, packed.

SOURCE: a .jsonl of a capture; TARGET: a .jsonl.xz below data/. Partition, offset and time of arrival are dropped.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

_DROPPED = ("partition", "offset", "timestamp")


def main(source: str, target: str) -> None:
    with Path(source).open(encoding="utf-8") as lines, lzma.open(target, "wt", preset=9, encoding="utf-8") as packed:
        for line in lines:
            record = {name: part for name, part in json.loads(line).items() if name not in _DROPPED}
            packed.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
