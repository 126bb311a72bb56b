"""docs/errors.md, from the table of error codes."""

from __future__ import annotations

from itertools import groupby

from dev.pages.markdown import linked
from replicator.codes import CODES

_HEAD = """# Error codes

Made from `replicator/codes` by `make docs`; do not edit. Every error reads
`CODE area: what is wrong. Found: ... Wanted: ... Fix: ...`; the fix shown there is more exact than the remedy here,
where the place that raises the error knows more.
"""


def page() -> str:
    parts = [_HEAD]
    for area, entries in groupby(CODES.items(), key=lambda item: item[1].area):
        parts.append(f"\n## {area}\n\n| code | what | why it happens | remedy |\n| --- | --- | --- | --- |")
        parts += [linked(f"| {code} | {entry.title} | {entry.meaning} | {entry.remedy} |") for code, entry in entries]
    return "\n".join(parts) + "\n"
