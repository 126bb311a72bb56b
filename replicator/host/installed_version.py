"""The version of mysql-replicator that is installed here."""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError, version


@functools.cache
def installed_version() -> str:
    """`""`: it is not installed, but run from its sources."""
    try:
        return version("mysql-replicator")
    except PackageNotFoundError:
        return ""
