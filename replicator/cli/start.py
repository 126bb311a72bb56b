"""The console script. Ctrl-C ends it quietly also while modules are being loaded (see `loading.py`, which itself would
have to be loaded first)."""

import os
import signal

_OURS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _OURS:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))


def main() -> object:
    from replicator.cli.main import main as command

    if _OURS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    result: object = command()
    return result
