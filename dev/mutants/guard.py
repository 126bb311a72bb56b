"""One guard of the code: the text that removes it, and the tests that must fail without it."""

from __future__ import annotations

from typing import NamedTuple


class Guard(NamedTuple):
    """`old` is text that `file` has exactly once, and `new` what takes its place; `tests`: arguments of pytest.
    `compiled`: they run the compiled decoder, which is built again when it is the one that lacks the guard."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    compiled: bool = False
