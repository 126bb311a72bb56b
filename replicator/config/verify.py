"""Configuration of the nightly verification of a task."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from replicator.config.base import Model
from replicator.errors import ConfigError

_SINKS: Final = ("kafka", "mysql", "mariadb")


class Verify(Model):
    nightly: bool = Field(
        False, description="once a day, the Core that runs the task compares source and target (`replicator verify`)"
    )
    at: str = Field(
        "00:00",
        pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        description="time of the day in UTC from which it may begin",
    )
    max_rows_per_s: int = Field(20_000, ge=1, le=10_000_000, description="maximum number of rows to read per second")
    max_hours: float = Field(
        5, gt=0, le=20, description="hours after which it ends; the next one begins with the tables that are left"
    )
    wait_s: float = Field(
        60, ge=0, le=3600, description="seconds to wait for the target to pass the source's position, if rows differ"
    )


def check_verifiable(verify: Verify, source: str, sink: str) -> None:
    """Raises ConfigError E1003: rows of such a task can't be compared."""
    if not verify.nightly or (sink in _SINKS and source != "kafka"):
        return
    raise ConfigError(
        "E1003",
        "verify.nightly is not for a task of this kind",
        found=f"source.type: {source}, sink.type: {sink}",
        wanted="a database as the source, and sink.type kafka, mysql or mariadb",
        fix="Remove verify.nightly.",
    )
