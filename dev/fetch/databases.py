"""MySQL and MariaDB: programs of each release, and a template data folder that every server of it copies.

The templates hold the accounts already, so that creating them stands in no server's binlog.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.archives import unpack_members
from dev.fetch.debian import Prefix, unpack
from dev.fetch.once import folder_once, run
from dev.fetch.releases import Debian, Maven, Release

# Each template remembers the accounts; a new number makes every cache build it anew.
_TEMPLATE = 1

# What the programs of archives are linked against: they were built for older systems.
_LIBRARIES = ["libaio1", "libcrypt1", "libstdc++6", "libsystemd0", "zlib1g"]

_REPLICATOR = """
CREATE USER 'replicator'@'%' IDENTIFIED {by} 'replicator';
GRANT {grants} ON *.* TO 'replicator'@'%';
"""
_GRANTS = "REPLICATION SLAVE, REPLICATION CLIENT, SELECT"
_ROOT = "GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;"
# The order of Debian's mariadb-install-db, which itself cannot run programs through the prefix's loader. They begin
# with `mysql_`, since MariaDB 11 with `mariadb_`.
_TABLES = (
    "*_system_tables",
    "*_performance_tables",
    "*_system_tables_data",
    "maria_add_gis_sp_bootstrap",
    "*_sys_schema",
)


def root(release: Release) -> Path:
    """Where its programs are; fetched when they are not."""

    def build(draft: Path) -> None:
        if isinstance(release.origin, Debian):
            unpack(release.name, release.origin.suite, list(release.origin.packages), draft)
        else:
            unpack_members(release.name, release.origin, draft)
            (draft / release.server).chmod(0o755)
        if not (draft / release.server).exists():
            raise ServerUnavailable(release.name, f"what was fetched holds no {release.server}")

    return folder_once(release.folder, build)


def prefix(release: Release) -> Prefix:
    """What runs its programs. Raises ServerUnavailable."""
    if isinstance(release.origin, Maven):
        return Prefix(
            folder_once("libraries-bookworm", lambda draft: unpack("libraries", "bookworm", _LIBRARIES, draft))
        )
    return Prefix(root(release))


def command(release: Release) -> list[str]:
    """The server's program with the options that say where its own files are."""
    folder = root(release)
    share = folder / release.share
    plugins = [f"--plugin-dir={folder / release.plugins}"] if release.plugins else []
    return [
        *prefix(release).command(str(folder / release.server)),
        "--no-defaults",
        f"--basedir={share.parent.parent if release.plugins else share.parent}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
        *plugins,
        *as_root(),
    ]


def as_root() -> list[str]:
    """The servers refuse to run as root unless told so."""
    return ["--user=root"] if os.getuid() == 0 else []


def template(release: Release) -> Path:
    """A data folder with the system tables and accounts. Raises ServerUnavailable."""
    build = {"initialize": _initialize, "scripts": _from_scripts, "data": _from_data}[release.system]
    base = {"mysql-9.7": "mysql", "mariadb-10.11": "mariadb"}.get(release.name, release.name)
    program = command(release)
    return folder_once(f"{base}-template-{_TEMPLATE}", lambda draft: build(release, program, draft))


def _initialize(release: Release, program: list[str], draft: Path) -> None:
    accounts = draft.parent / f"{draft.name}.sql"
    made = (
        "CREATE USER 'root'@'127.0.0.1';\n"
        + _ROOT
        + _REPLICATOR.format(by="WITH caching_sha2_password BY", grants=_GRANTS)
    )
    accounts.write_text("\n".join(line for line in made.splitlines() if line) + "\n")  # one statement a line
    settings = ["--skip-log-bin", "--innodb-redo-log-capacity=16M", "--secure-file-priv=", "--mysqlx=OFF"]
    try:
        run(
            release.name,
            [*program, "--initialize-insecure", f"--datadir={draft}", *settings, f"--init-file={accounts}"],
        )
    finally:
        accounts.unlink()
    (draft / "auto.cnf").unlink(missing_ok=True)  # each copy is a server of its own


def _from_scripts(release: Release, program: list[str], draft: Path) -> None:
    (draft / "mysql").mkdir()
    share = root(release) / release.share
    scripts = [found for name in _TABLES for found in share.glob(f"{name}.sql")]
    if not scripts:
        raise ServerUnavailable(release.name, "what was fetched holds no scripts for the system tables")
    tables = "\n".join(script.read_text() for script in scripts)
    _feed(release, program, draft, f"SET @auth_root_socket=NULL;\nUSE mysql;\n{tables}\n")


def _from_data(release: Release, program: list[str], draft: Path) -> None:
    for name in ("mysql", "performance_schema"):
        shutil.copytree(root(release) / release.data / name, draft / name)
    _feed(release, program, draft, "USE mysql;\n")


def _feed(release: Release, program: list[str], draft: Path, tables: str) -> None:
    """Runs SQL in a server without a network: the system tables, then the accounts."""
    grants = f"{_GRANTS}, {release.grants}" if release.grants else _GRANTS
    replicator = _REPLICATOR.format(by="BY", grants=grants)
    accounts = f"{release.drop_anonymous}\nFLUSH PRIVILEGES;\n{_ROOT}\n{replicator}"
    settings = [f"--innodb-log-file-size={_log_size(release)}", "--log-warnings=0"]
    run(
        release.name,
        [*program, "--bootstrap", f"--datadir={draft}", *settings],
        text_in=tables + accounts,
    )


def _log_size(release: Release) -> str:
    """As the server is started with: one of another size is refused by old releases."""
    given = [option.split("=")[1] for option in release.settings if option.startswith("--innodb-log-file-size=")]
    return given[0] if given else "5M"


def copy_template(source: Path, data: Path) -> None:
    shutil.copytree(source, data)
    data.chmod(0o700)
