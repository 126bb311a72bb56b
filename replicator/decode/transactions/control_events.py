"""Handlers of events outside transactions: format description, rotation, GTID lists, heartbeats."""

from __future__ import annotations

import struct
from collections import Counter
from typing import Final

from replicator.decode.binlog import event_types, unsupported_events
from replicator.decode.plan.table_versions import TableVersions
from replicator.decode.transactions.batch_collector import BatchCollector
from replicator.decode.transactions.metadata_events import MetadataEvents
from replicator.decode.transactions.progress import Progress
from replicator.model.description import tells_checksum
from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.json_string import quote

_FARTHEST: Final = 1 << 60
"""No file is as long. What is counted on from an offset below fits into 63 bits, as it does in compiled code."""


class ControlEvents:
    """Handlers, as `dispatch.Handler` describes them.

    Args:
        in_file: the events come from a file, not from a server.

    Attributes:
        checksum: whether events end with one, as the last format description says.
    """

    def __init__(
        self,
        progress: Progress,
        collector: BatchCollector,
        versions: TableVersions,
        narration: MetadataEvents,
        counters: Counter[str],
        *,
        in_file: bool,
    ) -> None:
        self.checksum = False
        self._progress, self._collector, self._versions = progress, collector, versions
        self._metadata, self._counters = narration, counters
        self._state = progress.state
        self._in_file = in_file
        self._name_file()

    def between(self) -> None:
        """Raises DecodeError E2302 inside a transaction."""
        if not self._collector.between:
            raise unsupported_events.structure("a transaction is unfinished at the end or start of a file")

    def format_description(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        """Binlog version 2 bytes, server version 50, created 4, header length 1, post-header lengths, checksum 1 (none
        in MySQL before 5.6)."""
        self.between()
        version, header = int.from_bytes(b[p : p + 2], "little"), b[p + 56]
        told = tells_checksum(b[p:end])
        algorithm = b[end - 1] if told else 0
        lengths = b[p + 57 : end - 1 if told else end]
        mapped = lengths[event_types.TABLE_MAP - 1 : event_types.TABLE_MAP] == b"\x08"
        usual = mapped and version == 4 and header == event_types.HEADER_SIZE
        if not usual or algorithm > 1:
            found = f"binlog version {version}, headers of {header} bytes, checksum algorithm {algorithm}"
            raise unsupported_events.structure("the format of the binlog is unknown", found)
        self.checksum = algorithm == 1
        self._progress.described(timestamp)
        self._versions.forget_ids()
        self._versions.written_by(b[p + 2 : p + 52].rstrip(b"\0"))

    def rotate(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        self.between()
        offset, file = int.from_bytes(b[p : p + 8], "little"), b[p + 8 : end].decode("utf-8")
        if not file or not file.isprintable() or offset < 4:
            raise unsupported_events.structure("a ROTATE event without a file name", repr(file))
        _check_offset(offset)
        moved = (file, offset) != (self._progress.file, self._state.offset)
        self._progress.rotate(file, offset)
        self._versions.forget_ids()
        self._name_file()
        if moved:
            self._collector.boundary()

    def _name_file(self) -> None:
        self._state.file_json = quote(self._progress.file).encode().decode("latin-1")

    def heartbeat(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        """Its header has moved the position; between transactions it is a boundary."""
        if self._collector.between:
            self._collector.boundary()
            self._metadata.heartbeat(timestamp, server_id)

    def heartbeat_v2(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        """Fields (type, length, value): 1 file name, 2 position as a length-encoded integer."""
        at = p
        while at + 2 <= end and b[at]:
            kind, size = b[at], b[at + 1]
            value = b[at + 2 : min(at + 2 + size, end)]
            if kind == 2 and value:
                width = {252: 2, 253: 3, 254: 8}.get(value[0], 0)
                offset = int.from_bytes(value[1 : 1 + width], "little") if width else value[0]
                _check_offset(offset)
                self._state.offset = max(self._state.offset, offset)
            at += 2 + size
        self.heartbeat(b, p, end, timestamp, server_id)

    def previous_gtids(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        if not self._progress.tracked:
            self._progress.earlier_mysql(GtidSet.decode(b[p:end]))
        self._passed()

    def gtid_list(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        """Count 4 (upper 4 bits: flags), then domain 4, server 4, sequence 8 each; a domain's last one counts."""
        count = int.from_bytes(b[p : p + 4], "little") & 0x0FFFFFFF
        if p + 4 + 16 * count > end:
            raise unsupported_events.structure("a GTID list is truncated")
        executed = MariaDBPosition()
        for at in range(p + 4, p + 4 + 16 * count, 16):
            executed.add(*struct.unpack_from("<IIQ", b, at))
        self._progress.earlier_mariadb(executed)
        self._passed()

    def checkpoint(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        """MariaDB's Binlog_checkpoint: which files a recovery would read. It may come moments after a rotation."""
        self._counters[event_types.name(event_types.MARIADB_BINLOG_CHECKPOINT)] += 1
        self._passed()

    def _passed(self) -> None:
        """An event that is between transactions, and may be the log's last one for as long as nobody writes: who
        waits for the end of the log must not have to wait for a heartbeat."""
        if self._collector.between:
            self._collector.boundary()

    def encrypted(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        """A server decrypts what it streams; a file's bytes from here on are not events."""
        if self._in_file:
            raise unsupported_events.unreadable(event_types.MARIADB_START_ENCRYPTION)
        self._counters[event_types.name(event_types.MARIADB_START_ENCRYPTION)] += 1


def _check_offset(offset: int) -> None:
    if offset >= _FARTHEST:
        raise unsupported_events.structure("the stream continues without a file", f"byte {offset}")
