"""The keys of a cluster, which seal secrets: a file that Cores and Servers hold, one key in each line. The first one
seals.

    # made by `replicator cluster new-key`
    q8dR...=            32 bytes in base64

The id of a key is a part of its SHA-256, so that it can't be mistaken for another one's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from replicator.errors import ConfigError
from replicator.host import private_files
from replicator.host.files import NotUsable

VARIABLE: Final = "REPLICATOR_CLUSTER_KEY_FILE"
"""The path of the file, for this process and its workers."""
_SIZE: Final = 32
_MOST_BYTES: Final = 64 * 1024
_HEAD: Final = "# Keys of a mysql-replicator cluster. The first one seals; all of them open. Keep this file secret.\n"


class ClusterKeys:
    """Attributes: sealing: id of the key that seals. keys: by id."""

    def __init__(self, keys: list[bytes]) -> None:
        self.keys: Mapping[str, bytes] = {id_of(key): key for key in keys}
        self.sealing = id_of(keys[0])


def id_of(key: bytes) -> str:
    """8 hexadecimal digits."""
    return hashlib.sha256(key).hexdigest()[:8]


def configured() -> ClusterKeys | None:
    """Those of this process; None: it has none. The file is read each time, so that a new key needs no restart. Raises
    ConfigError E1043."""
    path = os.environ.get(VARIABLE)
    return read(Path(path)) if path else None


def read(path: Path) -> ClusterKeys:
    """Raises ConfigError E1043: missing, open to other users, or without a key. Its content is never shown."""
    try:
        content = private_files.read(path, _MOST_BYTES)
    except private_files.Exposed as error:
        raise _unusable(path, str(error), fix=f"chmod 600 {path}") from None
    except NotUsable as error:
        raise _unusable(path, str(error)) from None
    keys = list(_parsed(path, content))
    if not keys:
        raise _unusable(path, "no key")
    return ClusterKeys(keys)


def add(path: Path) -> tuple[str, int]:
    """Puts a new key in front of those that the file has, or makes the file. Returns the key's id and how many there
    are now. Raises ConfigError E1043."""
    before = path.exists()
    earlier = list(read(path).keys.values()) if before else []
    keys = [secrets.token_bytes(_SIZE), *earlier]
    text = _HEAD + "".join(f"{base64.b64encode(key).decode()}\n" for key in keys)
    try:
        private_files.replace(path, text.encode())
    except OSError as error:
        raise _unusable(path, error.strerror or str(error), fix="Give a path that this user can write to.") from None
    return id_of(keys[0]), len(keys)


def _parsed(path: Path, content: bytes) -> Iterator[bytes]:
    for line in content.splitlines():
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        try:
            key = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise _unusable(path, "a line that is not base64") from None
        if len(key) != _SIZE:
            raise _unusable(path, f"a key of {len(key)} bytes")
        yield key


def _unusable(path: Path, found: str, fix: str = "") -> ConfigError:
    return ConfigError(
        "E1043",
        f"the cluster key file {path} can't be used",
        found=found,
        wanted="a file with mode 0600 that `replicator cluster new-key` has made",
        fix=fix,
    )
