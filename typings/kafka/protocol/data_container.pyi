from typing import Any

class DataContainer:
    def __init__(self, *args: Any, version: int | None = None, **field_vals: Any) -> None: ...
