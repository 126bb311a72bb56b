"""`python -m dev.docs`: writes the pages under docs/ that are made from code. `--check` only compares."""

from __future__ import annotations

import sys
from itertools import groupby

from dev.faults.page import page as faults_page
from dev.paths import TREE
from dev.progress import say
from replicator.codes import CODES

_HEAD = """# Error codes

Made from `replicator/codes.py` by `make docs`; do not edit. Every error reads
`CODE area: what is wrong. Found: ... Wanted: ... Fix: ...`; the fix shown there is more exact than the remedy here,
where the place that raises the error knows more.
"""


def errors_page() -> str:
    parts = [_HEAD]
    for area, entries in groupby(CODES.items(), key=lambda item: item[1].area):
        parts.append(f"\n## {area}\n\n| code | what | why it happens | remedy |\n| --- | --- | --- | --- |")
        parts += [f"| {code} | {entry.title} | {entry.meaning} | {entry.remedy} |" for code, entry in entries]
    return "\n".join(parts) + "\n"


PAGES = {"docs/errors.md": errors_page, "docs/faults.md": faults_page}


def main() -> int:
    stale = []
    for name, page in PAGES.items():
        path, text = TREE / name, page()
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            say(f"wrote {name}")
    if stale and "--check" in sys.argv:
        say(f"out of date: {', '.join(stale)}; run `make docs`")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
