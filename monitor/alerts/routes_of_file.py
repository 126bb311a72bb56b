"""The routes of a Monitor: those of its file, read again when it has changed."""

from __future__ import annotations

from pathlib import Path

from monitor.alerts.rules_of_file import Watched
from replicator.alerts.route import Route
from replicator.alerts.route_file import load
from replicator.coordination.clock import now_ms
from replicator.errors import ProcessError
from replicator.telemetry.log import get_logger

log = get_logger("monitor")


class RoutesOfFile:
    """
    Args:
        path: None: there are none.

    Attributes:
        problem, problem_ms: why a changed file is not in use, and since when; "" where it is.

    Raises:
        ProcessError: E5181, E5182.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = Watched(path) if path is not None else None
        self.routes: tuple[Route, ...] = load(path) if path is not None else ()
        self.problem = ""
        self.problem_ms = 0

    @property
    def configured(self) -> bool:
        return self._file is not None

    def refresh(self) -> bool:
        """Whether there are other routes now. A file that is not valid leaves the former ones in use."""
        if self._file is None or not self._file.changed():
            return False
        try:
            self.routes = load(self._file.path)
        except ProcessError as error:
            self.problem = f"{error.what}. Found: {error.found}. The former routes are in use."
            self.problem_ms = now_ms()
            log.error("alert routes can't be used", code=error.code, error=error.what, found=error.found)
            return False
        self.problem = ""
        log.info("alert routes were read again", file=str(self._file.path), routes=len(self.routes))
        return True
