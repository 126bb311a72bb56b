"""Logs to stderr, one line per event, as text for people or JSON for machines.

Fields: ts, level, event, and whatever the place knows: task, instance, role, epoch, gtid, code. Secrets never get here:
configurations hold references only, and connection settings are not logged. The last lines are kept in memory, too, for
support bundles.
"""

from __future__ import annotations

import logging
import sys
from functools import cache
from typing import Any, Final

import structlog

from replicator.telemetry.recent_lines import RecentLines

recent: Final = RecentLines()
"""Of this process."""
_LIBRARIES: Final = "%(levelname)s %(name)s %(message)s"


class _Stderr:
    """Looks sys.stderr up for each line, and survives a full disk or a closed pipe: logging never stops a task."""

    def msg(self, message: str) -> None:
        recent.add(message)
        try:
            sys.stderr.write(message + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            return

    log = debug = info = warn = warning = error = critical = exception = fatal = msg


class _Kept(logging.Handler):
    """Keeps what libraries log."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            recent.add(self.format(record))
        except Exception:
            self.handleError(record)


def setup(style: str | None = None, *, level: str = "info") -> None:
    """style: "text", "json" or None (text on a terminal and in a pipe alike; JSON must be asked for)."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format=_LIBRARIES)
    root = logging.getLogger()
    if not any(isinstance(handler, _Kept) for handler in root.handlers):
        kept = _Kept()
        kept.setFormatter(logging.Formatter(_LIBRARIES))
        root.addHandler(kept)
    for noisy in map(logging.getLogger, ("kafka", "kazoo")):
        if noisy.level != logging.CRITICAL:  # to set it visits every logger: in a worker, pages that it shares
            noisy.setLevel(logging.CRITICAL)
    structlog.configure(**_settings(style, level))


@cache
def _settings(style: str | None, level: str) -> dict[str, Any]:
    """Made once: workers find them in what they are forked from."""
    renderer: Any
    if style == "json":
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0, sort_keys=False)
    return {
        "processors": [
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        "wrapper_class": structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        "logger_factory": lambda *args: _Stderr(),
        "cache_logger_on_first_use": False,
    }


def get_logger(name: str) -> Any:
    """A structlog logger; `name` becomes the field `component`."""
    # lazy: a logger made while modules are imported must follow the set-up that comes later
    return structlog.get_logger(component=name)
