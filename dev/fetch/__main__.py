"""`python -m dev.fetch [zookeeper kafka mysql mariadb registry]`: fill the cache, all servers when none is named."""

from __future__ import annotations

import sys

from dev.errors import DevError
from dev.fetch import databases, jars
from dev.progress import say

_FETCH = {
    "zookeeper": jars.zookeeper_libs,
    "kafka": jars.kafka_libs,
    "mysql": databases.mysql_template,
    "mariadb": databases.mariadb_template,
    "registry": jars.registry_libs,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in _FETCH]
    if unknown:
        say(f"unknown: {', '.join(unknown)}; known: {', '.join(_FETCH)}")
        return 2
    for name in names or list(_FETCH):
        try:
            say(f"{name}: {_FETCH[name]()}")
        except DevError as error:
            say(str(error))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
