"""The pages of the Monitor that people open by address; every one leads to those of NAVIGATION."""

from __future__ import annotations

from typing import Final

import msgspec


class Entry(msgspec.Struct, frozen=True):
    """A page that every page leads to."""

    path: str
    title: str


NAVIGATION: Final = (
    Entry("/", "Tasks"),
    Entry("/machines", "Machines"),
    Entry("/alerts", "Alerts"),
    Entry("/audit", "Audit"),
)
_LINKED: Final = ("/changes", "/docs")
"""Pages that others lead to."""
_FOLDERS: Final = ("/tasks/", "/machines/", "/docs/", "/codes/")


def is_page(path: str) -> bool:
    """A path that a browser shows, where a login page helps a person without a login."""
    return path in _LINKED or any(path == entry.path for entry in NAVIGATION) or path.startswith(_FOLDERS)


def is_form(path: str) -> bool:
    """A path to which a page sends a form with which a person acts."""
    return path == "/unlock" or (is_page(path) and "/actions/" in path)
