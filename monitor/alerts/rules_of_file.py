"""The rules of a Monitor: those of its file, read again when it has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from replicator.alerts.evaluation import Evaluator
from replicator.alerts.rule import Rule
from replicator.alerts.rule_file import load, shipped
from replicator.errors import ProcessError
from replicator.telemetry.log import get_logger

log = get_logger("monitor")


class Watched:
    """A file that is looked at. changed(): true with the first call after a change, also if the file has gone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mark = self._look()

    def changed(self) -> bool:
        before, self._mark = self._mark, self._look()
        return before != self._mark

    def _look(self) -> tuple[int, ...]:
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_size


class RulesOfFile:
    """
    Args:
        path: None: the shipped rules.

    Attributes:
        problem: why a changed file is not in use, "" where it is.

    Raises:
        ProcessError: E5180, E5181.
    """

    def __init__(self, path: Path | None, read: Callable[[Path], tuple[Rule, ...]] = load) -> None:
        self._file = Watched(path) if path is not None else None
        self._read = read
        self.problem = ""
        self.evaluator = Evaluator(read(path) if path is not None else shipped())

    def refresh(self) -> None:
        """A file that is not valid leaves the former rules in use."""
        if self._file is None or not self._file.changed():
            return
        try:
            self.evaluator = Evaluator(self._read(self._file.path))
        except ProcessError as error:
            self.problem = f"{error.what}. Found: {error.found}. The former rules are in use."
            log.error("alert rules can't be used", code=error.code, error=error.what, found=error.found)
            return
        self.problem = ""
        log.info("alert rules were read again", file=str(self._file.path), rules=len(self.evaluator.rules))
