"""Where the errors that fail a task come from."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Scope: TypeAlias = Literal["host", "either", "task"]

_SCOPES: Final[dict[str, Scope]] = {
    "E1006": "host",  # its variables and files
    "E1012": "host",  # what its operator has set aside
    "E2311": "host",  # its disk
    "E3201": "host",
    "E3202": "host",  # the directory that its operator has named, or none
    "E5008": "host",  # again and again: too little memory
    "E5018": "host",
    "E2101": "either",  # accounts are bound to hosts: 'replicator'@'core-1'
    "E2102": "either",  # the CA file, or the server's certificate
    "E2104": "either",
    "E2105": "either",  # the key's file
    "E2342": "either",
    "E3103": "either",
    "E3110": "either",
    "E3304": "either",
    "E3403": "either",
    "E3404": "either",
    "E3405": "either",
    "E3406": "either",
}


def scope_of(code: str) -> Scope:
    """Where an error that fails a task comes from: "host", the Core's machine; "either", perhaps; else "task"."""
    return _SCOPES.get(code, "task")
