"""Hashes of passwords: scrypt, with its parameters in front, so that they can rise without a migration."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from typing import Final

from replicator.errors import ConfigError

SHORTEST: Final = 12
LONGEST: Final = 1024
Cost = tuple[int, int, int]
"""n, r and p of scrypt."""
COST: Final[Cost] = (1 << 15, 8, 1)
"""32 MB and about a tenth of a second."""
_MOST_MEMORY: Final = 256 << 20
_AT_ONCE = threading.BoundedSemaphore(2)
"""Memory and CPU time that strangers can make us spend by sending passwords."""


def checked(password: str) -> str:
    """Raises ConfigError E1003 for one that is too short or too long. It is not shown."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise ConfigError(
            "E1003",
            "the password is too short or too long",
            found=f"{len(password)} characters",
            wanted=f"{SHORTEST} to {LONGEST} characters",
            fix="Choose another password.",
        )
    return password


def hashed(password: str, cost: Cost = COST) -> str:
    """`scrypt$N$R$P$SALT$HASH`, in hexadecimal digits."""
    n, r, p = cost
    salt = os.urandom(16)
    return f"scrypt${n}${r}${p}${salt.hex()}${_derived(password, salt, n, r, p).hex()}"


def matches(password: str, stored: str) -> bool:
    """False also for a `stored` that nobody understands. Takes as long for a user that does not exist: give NOBODY."""
    if len(password) > LONGEST:
        return False
    try:
        kind, n, r, p, salt, wanted = stored.split("$")
        if kind != "scrypt":
            return False
        found = _derived(password, bytes.fromhex(salt), int(n), int(r), int(p))
        return hmac.compare_digest(found, bytes.fromhex(wanted))
    except ValueError:
        return False


def _derived(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    with _AT_ONCE:
        raw = password.encode("utf-8", "surrogatepass")
        return hashlib.scrypt(raw, salt=salt, n=n, r=r, p=p, maxmem=_MOST_MEMORY, dklen=32)


NOBODY: Final = f"scrypt${COST[0]}${COST[1]}${COST[2]}${'00' * 16}${'00' * 32}"
"""A hash that no password has."""
