"""A coordinator that counts what is asked of it."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from replicator.coordination.ports import Coordinator


class Counted:
    """Every call goes to `inner`; `calls`: how often, by name."""

    def __init__(self, inner: Coordinator) -> None:
        self._inner = inner
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or name == "on_connection":
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            return found(*args, **kwargs)

        return call

    def taken(self) -> dict[str, int]:
        """The calls since the last time."""
        calls, self.calls = dict(self.calls), Counter()
        return calls

    @property
    def port(self) -> Coordinator:
        return cast(Coordinator, self)
