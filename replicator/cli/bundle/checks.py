"""Part of a support bundle: what `replicator check` finds for a task, within a time limit."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Final

import msgspec

SECONDS: Final = 10.0


def checked(data: dict[str, Any] | None) -> Any:
    """Findings from this host, with its secrets; a Core may have others."""
    from replicator.assembly.task_checks import check_task
    from replicator.config.load import parse_task

    if data is None:
        return "not configured"
    config = parse_task(data)
    return msgspec.to_builtins(within(SECONDS, lambda: check_task(config)))


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """Raises TimeoutError; the thread of a call that hangs ends with the process."""
    answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((call(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=run, daemon=True, name="bundle-check").start()
    try:
        found, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no result within {seconds:g} s") from None
    if error is not None:
        raise error
    return found
