"""What was sent, in ZooKeeper, where the next Monitor that sends finds it."""

from __future__ import annotations

from collections.abc import Mapping

from replicator.coordination.alert_records import SentGroup, SentRecord
from replicator.coordination.clock import now_ms
from replicator.coordination.compression import compressed, decompressed
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Set
from replicator.coordination.records import dump, load
from replicator.errors import CoordinationError, NodeMissing


class SentStore:
    """Raises NotConnected."""

    def __init__(self, coordinator: Coordinator, layout: Layout, host: str) -> None:
        self._coordinator = coordinator
        self._path = layout.alerts_sent
        self._host = host

    def read(self) -> SentRecord:
        """An empty one where there is none, or one that can't be read: then everything is sent once more."""
        try:
            data = self._coordinator.get(self._path).data
            return load(SentRecord, decompressed(data, self._path, "a record of sent alerts", ""), self._path)
        except NodeMissing:
            return SentRecord()
        except CoordinationError as error:
            if error.transient:
                raise
            return SentRecord()

    def write(self, groups: Mapping[str, SentGroup], claim: str) -> None:
        """`claim`: path of the node of our lock. Raises NodeMissing if it is gone: another Monitor sends."""
        record = SentRecord(groups=dict(groups), host=self._host, time_ms=now_ms())
        data = compressed(dump(record))
        change = Create(self._path, data) if self._coordinator.exists(self._path) is None else Set(self._path, data)
        self._coordinator.multi([Check(claim), change])
