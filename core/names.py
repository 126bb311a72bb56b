"""Makes the names that a worker looks up beside each other, before anything else is imported.

Of equal names CPython keeps the first (`sys.intern`), wherever that was made, and each look-up of an attribute writes
into it: the cache of methods counts a reference. Left alone they are strewn over all that was imported; a worker copies
a page for each few of them. `names.txt` has those of the functions in `called.txt`, and is written with it.

Imported by the template process, as the first of all (launcher.py), which has gaps of its own by then (`gaps.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from core.gaps import fill

LIST: Final = Path(__file__).with_suffix(".txt")


def intern(path: Path = LIST) -> list[str]:
    """A name a line. They stay where they are for as long as somebody holds them, or uses one."""
    return [sys.intern(name) for name in path.read_text("ascii").split()]


fill()
_kept: Final = intern()
