"""MySQL and MariaDB: a private prefix each, and a template data folder that every server copies.

The templates hold the accounts already, so that creating them stands in no server's binlog.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.debian import Prefix, unpack
from dev.fetch.once import folder_once, run

# Each template remembers the accounts; a new number makes every cache build it anew.
_TEMPLATE = 1

_REPLICATOR = """
CREATE USER 'replicator'@'%' IDENTIFIED {by} 'replicator';
GRANT REPLICATION SLAVE, {client}, SELECT ON *.* TO 'replicator'@'%';
"""
_MYSQL_ACCOUNTS = """
CREATE USER 'root'@'127.0.0.1';
GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
""" + _REPLICATOR.format(by="WITH caching_sha2_password BY", client="REPLICATION CLIENT")
# MariaDB's own tables hold root@127.0.0.1 already, and an anonymous account that would shadow others.
_MARIADB_ACCOUNTS = """
DELETE FROM mysql.global_priv WHERE User = '';
FLUSH PRIVILEGES;
""" + _REPLICATOR.format(by="BY", client="BINLOG MONITOR")
# The order of Debian's mariadb-install-db, which itself cannot run programs through the prefix's loader.
_MARIADB_TABLES = (
    "mysql_system_tables.sql",
    "mysql_performance_tables.sql",
    "mysql_system_tables_data.sql",
    "maria_add_gis_sp_bootstrap.sql",
    "mysql_sys_schema.sql",
)


def mysql_prefix() -> Prefix:
    def build(draft: Path) -> None:
        unpack("MySQL", "sid", ["mysql-server-core", "mysql-client-core"], draft)
        _need("MySQL", draft / "usr/sbin/mysqld")

    return Prefix(folder_once("mysql-sid", build))


def mariadb_prefix() -> Prefix:
    def build(draft: Path) -> None:
        unpack("MariaDB", "bookworm", ["mariadb-server-core", "mariadb-client-core"], draft)
        _need("MariaDB", draft / "usr/sbin/mariadbd")

    return Prefix(folder_once("mariadb-bookworm", build))


def mysqld() -> list[str]:
    prefix = mysql_prefix()
    share = prefix.root / "usr/share/mysql"
    return [
        *prefix.command("usr/sbin/mysqld"),
        "--no-defaults",
        f"--basedir={prefix.root / 'usr'}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
        f"--plugin-dir={prefix.root / 'usr/lib/mysql/plugin'}",
        "--secure-file-priv=",
        "--mysqlx=OFF",
        *as_root(),
    ]


def mariadbd() -> list[str]:
    prefix = mariadb_prefix()
    share = prefix.root / "usr/share/mysql"
    return [
        *prefix.command("usr/sbin/mariadbd"),
        "--no-defaults",
        f"--basedir={prefix.root / 'usr'}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
        f"--plugin-dir={prefix.root / 'usr/lib/mysql/plugin'}",
        *as_root(),
    ]


def as_root() -> list[str]:
    """Both servers refuse to run as root unless told so."""
    return ["--user=root"] if os.getuid() == 0 else []


def mysql_template() -> Path:
    command = mysqld()

    def build(draft: Path) -> None:
        accounts = draft.parent / f"{draft.name}.sql"
        # An init file takes one statement per line.
        accounts.write_text("\n".join(line for line in _MYSQL_ACCOUNTS.splitlines() if line) + "\n")
        settings = ["--skip-log-bin", "--innodb-redo-log-capacity=16M", f"--init-file={accounts}"]
        try:
            run("MySQL", [*command, "--initialize-insecure", f"--datadir={draft}", *settings])
        finally:
            accounts.unlink()
        (draft / "auto.cnf").unlink(missing_ok=True)  # each copy is a server of its own

    return folder_once(f"mysql-template-{_TEMPLATE}", build)


def mariadb_template() -> Path:
    command = mariadbd()
    share = mariadb_prefix().root / "usr/share/mysql"

    def build(draft: Path) -> None:
        (draft / "mysql").mkdir()
        scripts = [share / name for name in _MARIADB_TABLES if (share / name).exists()]
        tables = "\n".join(script.read_text() for script in scripts)
        opening = "SET @auth_root_socket=NULL;\nUSE mysql;\n"
        settings = ["--bootstrap", f"--datadir={draft}", "--innodb-log-file-size=16M", "--log-warnings=0"]
        run("MariaDB", [*command, *settings], text_in=f"{opening}{tables}\n{_MARIADB_ACCOUNTS}")

    return folder_once(f"mariadb-template-{_TEMPLATE}", build)


def copy_template(template: Path, data: Path) -> None:
    shutil.copytree(template, data)
    data.chmod(0o700)


def _need(owner: str, program: Path) -> None:
    if not program.exists():
        raise ServerUnavailable(owner, f"the packages hold no {program.name}")
