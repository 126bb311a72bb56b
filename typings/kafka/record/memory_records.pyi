from abc import ABCMeta
from collections.abc import Iterator, Sequence
from typing import Any

from kafka.record.default_records import DefaultRecordBatch

class MemoryRecords(metaclass=ABCMeta):  # of version 2; earlier ones have batches of another class
    def __init__(self, bytes_data: bytes) -> None: ...
    def __iter__(self) -> Iterator[DefaultRecordBatch]: ...

class MemoryRecordsBuilder:
    def __init__(
        self,
        magic: int,
        compression_type: int,
        batch_size: int,
        offset: int = 0,
        transactional: bool = False,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
    ) -> None: ...
    def append(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes]] | None = None
    ) -> Any: ...
    def buffer(self) -> bytearray: ...
    def close(self) -> None: ...
