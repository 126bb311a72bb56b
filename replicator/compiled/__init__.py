"""The hot path compiled: row bytes to record bytes, and records to Kafka's batches. See DESIGN.md.

Everything here has a twin in Python that gives the same bytes. `available()` says whether the compiled one runs.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

MODULES: Final = (
    "arena",
    "codes",
    "deferred_fields",
    "framing",
    "kafka",
    "loop",
    "net_rows",
    "program",
    "row_images",
    "row_runs",
    "row_texts",
    "steps",
    "tables",
    "transactions",
    "transcoding",
)
ABI: Final = 14
"""Raised with every change of what the modules and their users agree on, so that a module left over from another
version is not used."""

_SWITCH: Final = "REPLICATOR_COMPILED"


@cache
def _load() -> tuple[dict[str, ModuleType], str]:
    """(modules by name, why there are none)"""
    wanted = os.environ.get(_SWITCH, "")
    if wanted == "0":
        return {}, f"switched off by {_SWITCH}=0"
    found: dict[str, ModuleType] = {}
    try:
        for name in MODULES:
            found[name] = importlib.import_module(f"replicator.compiled.{name}")
            abi = getattr(found[name], "ABI", None)
            if abi != ABI:
                raise ImportError(f"{name} was built for another version ({abi} instead of {ABI})")
        built_from = getattr(found["arena"], "SOURCES", "")
        if sources() not in ("", built_from):
            raise ImportError("its sources have changed since it was built; `make setup` builds it again")
    except Exception as error:
        if wanted == "1":
            raise
        return {}, f"{type(error).__name__}: {error}"
    return found, ""


def sources() -> str:
    """SHA-256 of the sources beside this file, as `setup.py` writes it into what it builds; "" where there are none."""
    folder = Path(__file__).parent
    paths = [*sorted(folder.glob("*.pxd")), *sorted(folder.glob("*.pyx"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest() if paths else ""


def available() -> bool:
    return bool(_load()[0])


def why_not() -> str:
    """Why the Python twin runs; "" when it does not."""
    return _load()[1]


def module(name: str) -> Any:
    """One of the compiled modules. Only where `available()`."""
    return _load()[0][name]


def describe() -> str:
    """Which decoder runs, and why, for people."""
    return "compiled" if available() else f"Python, which is many times slower ({why_not()})"
