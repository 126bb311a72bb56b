"""Since when problems are known that no record has a time of: what this Monitor has seen, since its start."""

from __future__ import annotations

from monitor.problems.joined import findings
from monitor.view import View


class Noticed:
    """Of the thread that publishes."""

    def __init__(self) -> None:
        self._since: dict[str, int] = {}

    def note(self, view: View) -> dict[str, int]:
        """Key of a finding -> when it was first seen, in ms. What has ended is forgotten, and begins again later."""
        known = self._since
        self._since = {one.key: known.get(one.key, view.read_ms) for one in findings(view) if not one.since_ms}
        return self._since
