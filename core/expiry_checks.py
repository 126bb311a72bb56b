"""Runs the expiry checks of the tasks that run on this Core, once an hour, each in a separate process.

So neither a worker nor the agent pays for clients that are used for a second an hour, and a server that does not answer
delays nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from replicator.assembly.expiry_checks import ExpiryReport

FIRST: Final = 10.0
"""Seconds after which a task that has come here is looked at: not while it takes over."""
INTERVAL: Final = 3600.0
PACE: Final = 5.0
"""Seconds from one look to the next: a hundred tasks that come at once cost a few percent of a core for a while."""

Config = Mapping[str, Any]
Look = Callable[[Config], ExpiryReport | None]


class ExpiryChecks:
    """Runs the checks in a separate thread.

    Args:
        configs: of the tasks that run here, by name.
        look: None when it is unknown.
    """

    def __init__(
        self,
        configs: Callable[[], dict[str, Config]],
        look: Look,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._configs = configs
        self._look = look
        self._clock = clock
        self._due: dict[str, tuple[Config, float]] = {}
        self._known: dict[str, ExpiryReport] = {}
        self._next = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="expiry", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def of(self, task: str) -> ExpiryReport:
        """As of the last look; empty before the first one, and of a task that does not run here."""
        return self._known.get(task, _NOTHING)

    def _run(self) -> None:
        while not self._stopped.wait(1.0):
            self.round()

    def round(self) -> None:
        """Looks at one task, if one is due."""
        configs, now = self._configs(), self._clock()
        for task in self._due.keys() - configs.keys():
            del self._due[task]
            self._known.pop(task, None)
        for task, config in configs.items():
            if task not in self._due or self._due[task][0] != config:
                self._due[task] = config, now + FIRST
        task, (config, due) = min(self._due.items(), key=lambda each: each[1][1], default=("", ({}, now + 1)))
        if due > now or self._next > now:
            return
        self._next = now + PACE
        self._due[task] = config, now + INTERVAL
        found = self._look(config)
        if found is not None:
            self._known[task] = found


_NOTHING: Final = ExpiryReport()
