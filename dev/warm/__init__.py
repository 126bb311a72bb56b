"""Our processes, forked from one that has imported everything already.

Tests start hundreds of Cores, Servers and commands; each would spend most of its processor time on imports. A process
forked here runs the console script as a new interpreter would, with its own session, arguments, environment, working
directory and standard streams. The tests switch it on (`enable`): whoever measures a start, or shows the product to
people, has new interpreters.
"""

from dev.warm.client import WarmProcess, run, start

__all__ = ["WarmProcess", "enable", "enabled", "run", "start"]

_enabled = False


def enable() -> None:
    global _enabled
    _enabled = True


def enabled() -> bool:
    return _enabled
