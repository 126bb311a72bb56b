from typing import Any

class BrokerVersionData:
    def __init__(self, broker_version: Any = None, api_versions: Any = None) -> None: ...
    broker_version: tuple[int, ...]
