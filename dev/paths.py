"""Locations: the source tree, the cache outside it, and the private folders of running servers."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
UP = TREE / "build" / "up"
_PREFIX = "mysql-replicator-"
_FAST_ROOT = Path("/dev/shm")  # noqa: S108  (a tmpfs, used only for throw-away data with a private mode)
_FAST_NEEDS = 2 * 1024**3


def cache_root() -> Path:
    chosen = os.environ.get("REPLICATOR_CACHE")
    root = Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "mysql-replicator"
    root.mkdir(parents=True, exist_ok=True)
    return root


def private_folder(name: str, *, fast: bool = False) -> Path:
    """A new folder for one server, named after this process so that a later run can sweep up what a killed one left."""
    base = _fast_base() if fast else Path(tempfile.gettempdir())
    _sweep(base)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{name}-", dir=base))


def _fast_base() -> Path:
    usable = _FAST_ROOT.is_dir() and os.access(_FAST_ROOT, os.W_OK) and shutil.disk_usage(_FAST_ROOT).free > _FAST_NEEDS
    return _FAST_ROOT if usable else Path(tempfile.gettempdir())


@cache
def _sweep(base: Path) -> None:
    """Once per process: remove the folders of processes that are gone (only our own prefix, only our own files)."""
    for folder in base.glob(f"{_PREFIX}[0-9]*-*"):
        owner = folder.name.removeprefix(_PREFIX).split("-", 1)[0]
        if owner.isdigit() and not Path("/proc", owner).exists() and _is_ours(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    try:
        return folder.stat().st_uid == os.getuid() and not folder.is_symlink()
    except OSError:
        return False
