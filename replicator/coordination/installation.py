"""The id of the installation: one for each root znode, created once, by the first Core.

It stands in the names that sinks give (transactional ids, position topics), so that two installations with a task of
one name on one Kafka are two. A tree that is restored from a backup keeps it; a new tree gets another.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import InstallationRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing

_ID: Final = re.compile(r"[0-9a-f]{12}")


def installation_id(coordinator: Coordinator, layout: Layout) -> str:
    """12 hexadecimal digits. Raises NotConnected; CoordinationError E4009, E4010 for content that is not understood."""
    path = layout.installation
    try:
        data = coordinator.get(path).data
    except NodeMissing:
        try:
            made = InstallationRecord(id=secrets.token_hex(6), made_ms=now_ms())
            coordinator.create(path, dump(made), parents=True)
            return made.id
        except NodeExists:
            data = coordinator.get(path).data  # somebody else was first
    record = load(InstallationRecord, data, path)
    if not _ID.fullmatch(record.id):
        fix = (
            "Write the id of a backup into it (`replicator cluster backup --verify FILE -o json` shows it): positions "
            "in Kafka are stored under that id."
        )
        raise CoordinationError(
            "E4009",
            f"{path} does not contain an installation id",
            found=repr(record.id[:40]),
            wanted="12 digits",
            fix=fix,
        )
    return record.id
