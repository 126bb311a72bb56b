"""Errors of the development tools.

DevError
├── ServerUnavailable   the server's software is not to be had on this machine
└── ServerFailed        the software is there, but the server did not come up (carries the tail of its log)
"""


class DevError(Exception):
    """Base of everything that dev/ raises on purpose."""


class ServerUnavailable(DevError):
    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} is not available: {reason}")
        self.name = name
        self.reason = reason


class ServerFailed(DevError):
    def __init__(self, name: str, reason: str, log_tail: str = "") -> None:
        super().__init__(f"{name}: {reason}" + (f"\n--- end of its log ---\n{log_tail}" if log_tail else ""))
        self.name = name
        self.reason = reason
