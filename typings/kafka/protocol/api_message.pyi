from typing import Any

from kafka.protocol.data_container import DataContainer

class ApiMessage(DataContainer):
    def encode(self, version: int | None = None, header: bool = False, framed: bool = False) -> Any: ...
