"""`python -m dev.fetch [zookeeper kafka mysql mariadb registry redis prometheus mysql-5.6 ...]`: fill the cache, all
servers if none is named."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dev.errors import DevError
from dev.fetch import databases, jars
from dev.fetch.prometheus import prometheus_root
from dev.fetch.redis import redis_root
from dev.fetch.releases import MARIADB, MYSQL, OLDER
from dev.progress import say

_FETCH: dict[str, Callable[[], Path]] = {
    "zookeeper": jars.zookeeper_libs,
    "kafka": jars.kafka_libs,
    **{f"kafka-{version}": partial(jars.older_kafka_libs, version) for version in jars.OLDER_KAFKA},
    "mysql": partial(databases.template, MYSQL),
    "mariadb": partial(databases.template, MARIADB),
    "registry": jars.registry_libs,
    "redis": redis_root,
    "prometheus": prometheus_root,
    **{release.name: partial(databases.template, release) for release in OLDER},
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
