"""Names of tokens and users."""

from __future__ import annotations

import re
from typing import Final

from replicator.errors import ConfigError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_WANTED: Final = "1 to 64 characters: letters, digits and . _ @ -, the first one a letter or a digit"


def is_valid(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def checked(name: str, of: str) -> str:
    """`of`: "token" or "user". Raises ConfigError E1003."""
    if not is_valid(name):
        fix = f"Choose another name for the {of}."
        raise ConfigError("E1003", f"the name of the {of} is not valid", found=repr(name[:70]), wanted=_WANTED, fix=fix)
    return name
