"""Puts what a worker runs first beside each other, before workers are forked.

To call a function writes into its code (the count of references, at least), so that a worker copies the page that it
stands on. `called.txt` names the 1,900 functions that a worker calls until it rests; where they were imported, each
stands on a page of its own, among others that nobody calls. Written by `python -m dev.called`; names that are not found
cost pages, nothing else.
"""

from __future__ import annotations

import gc
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, TypeAlias

LIST: Final = Path(__file__).with_suffix(".txt")
Names: TypeAlias = frozenset[tuple[str, str]]
"""Module, and name within it as of `co_qualname`."""


def read(path: Path = LIST) -> Names:
    """A line for each module: its name, then those of its functions."""
    found = set()
    for line in path.read_text().splitlines():
        module, *names = line.split()
        found |= {(module, name) for name in names}
    return frozenset(found)


def gather(names: Names) -> int:
    """Copies the code of these functions to where memory is taken from now. Returns how many were found. Free memory in
    between spreads them again: see `gaps.fill`."""
    wanted = find(names)
    copies = [_copy(each.__code__, module, names) for each, module in wanted]
    held = [each.__code__ for each, _ in wanted]  # until all are copied, or one would take the place of another
    for (each, _), code in zip(wanted, copies, strict=True):
        each.__code__ = code
    return len(held)


def find(names: Names) -> list[tuple[FunctionType, str]]:
    """The functions of these names, and their modules' names."""
    functions = [each for each in gc.get_objects() if type(each) is FunctionType]
    return [(each, module) for each in functions if (module := _module(each), each.__code__.co_qualname) in names]


def words(code: CodeType) -> set[str]:
    """The names that a function looks up, and the constants that may be one."""
    return {code.co_name, *code.co_names}.union(*map(_words, code.co_consts))


def _words(constant: object) -> set[str]:
    if isinstance(constant, CodeType):
        return words(constant)
    if isinstance(constant, tuple | frozenset):
        return set().union(*map(_words, constant))
    return {constant} if isinstance(constant, str) and constant.isidentifier() else set()


def _module(function: FunctionType) -> str:
    return str(function.__globals__.get("__name__"))


def _copy(code: CodeType, module: str, names: Names) -> CodeType:
    """With the functions that are made in it."""
    inner = tuple(
        _copy(each, module, names) if isinstance(each, CodeType) and (module, each.co_qualname) in names else each
        for each in code.co_consts
    )
    return code.replace(co_consts=inner)
