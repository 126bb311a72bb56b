"""Identity and settings of one server, read once per connection into a value."""

from __future__ import annotations

import msgspec

from replicator.model.origin import BY_ID
from replicator.mysql.session import Session

VARIABLES = (
    "auto_increment_increment",
    "auto_increment_offset",
    "binlog_checksum",
    "binlog_expire_logs_seconds",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "enforce_gtid_consistency",
    "expire_logs_days",
    "gtid_binlog_pos",
    "gtid_mode",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_native_foreign_keys",
    "local_infile",
    "log_bin",
    "log_replica_updates",
    "log_slave_updates",
    "max_allowed_packet",
    "read_only",
    "replica_skip_errors",
    "server_id",
    "server_uuid",
    "slave_exec_mode",
    "slave_run_triggers_for_rbr",
    "slave_skip_errors",
    "sync_binlog",
    "version",
    "version_comment",
    "wsrep_load_data_splitting",
    "wsrep_on",
)


class Server(msgspec.Struct, frozen=True):
    """`variables`: the global ones of VARIABLES that this server has. `account`: CURRENT_USER(), `user@host`."""

    mariadb: bool
    version: tuple[int, ...]
    account: str
    variables: dict[str, str]

    def get(self, name: str) -> str:
        """The value as the server shows it, "" when it has no such variable."""
        return self.variables.get(name, "")

    @property
    def flavour(self) -> str:
        return "mariadb" if self.mariadb else "mysql"

    @property
    def identity(self) -> str:
        """See `Origin.server`."""
        return self.get("server_uuid") or f"{BY_ID}{self.get('server_id')}"

    @property
    def has_fractions(self) -> bool:
        """Whether times can have fractions of a second."""
        return self.mariadb or self.version >= (5, 6, 4)

    @property
    def gtid(self) -> bool:
        """True when every transaction has a GTID, so that a set of them is a position."""
        return self.mariadb or self.get("gtid_mode") == "ON"


def read_server(session: Session) -> Server:
    marks = ", ".join(["%s"] * len(VARIABLES))
    found = session.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({marks})", VARIABLES)
    variables = {str(name).lower(): str(value) for name, value in found}
    version = variables.get("version", "")
    return Server(
        mariadb="mariadb" in (version + variables.get("version_comment", "")).lower(),
        version=_numbers(version),
        account=str(session.value("SELECT CURRENT_USER()")),
        variables=variables,
    )


def _numbers(version: str) -> tuple[int, ...]:
    head = version.split("-", 1)[0]
    return tuple(int(part) for part in head.split(".") if part.isdigit())
