"""Archives of the classes that Java servers load (class data sharing): half the processor time of their start."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dev.errors import DevError
from dev.fetch.jars import java
from dev.fetch.once import folder_once
from dev.progress import say

_FILE: Final = "classes.jsa"


def archived(name: str, libs: Path, record: Callable[[Path], None]) -> list[str]:
    """JVM options that read the classes of `libs/*` from an archive in the cache. It is made once for each JVM and set
    of jars; a JVM ignores an archive that does not fit, and starts more slowly.

    Args:
        record: runs the server once, until its orderly end, with `recording(path)`.
    """

    def build(draft: Path) -> None:
        try:
            record(draft / _FILE)
        except DevError as error:  # of a JVM that has no such archives, for instance
            say(f"{name} starts without an archive of its classes: {error}")

    path = folder_once(f"classes-{name.lower()}-{_key(libs)}", build) / _FILE
    return [f"-XX:SharedArchiveFile={path}"] if path.exists() else []


def recording(path: Path) -> str:
    return f"-XX:ArchiveClassesAtExit={path}"


@functools.cache
def _key(libs: Path) -> str:
    files = [Path(java()).resolve(), *sorted(libs.glob("*.jar"))]
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]
