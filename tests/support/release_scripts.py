"""What of the scripts a release spells otherwise, and what it can't run, with the reason: all in one place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from dev.fetch.releases import RELEASES, Release

_OLD: Final = ("mysql-5.5", "mysql-5.6")
_MARIADB: Final = ("mariadb-10.2", "mariadb-10.5", "mariadb-11.4", "mariadb-11.8")
_ALL: Final = (*_OLD, *_MARIADB)


class Spelling(NamedTuple):
    """`releases`: names; what matches `pattern` is replaced for them."""

    releases: Sequence[str]
    pattern: re.Pattern[str]
    replacement: str


class Absence(NamedTuple):
    """Statements that match `pattern` are refused by the servers of `releases` (names)."""

    releases: Sequence[str]
    pattern: re.Pattern[str]
    reason: str


def _spelling(releases: Sequence[str], pattern: str, replacement: str) -> Spelling:
    return Spelling(releases, re.compile(pattern), replacement)


def _absence(releases: Sequence[str], pattern: str, reason: str) -> Absence:
    return Absence(releases, re.compile(pattern), reason)


SPELLINGS: Final = (
    _spelling([name for name in RELEASES if name != "mysql-9.7"], "utf8mb4_0900_ai_ci", "utf8mb4_general_ci"),
    _spelling(_OLD, r"\bST_GeomFromText\b", "GeomFromText"),
    _spelling((*_OLD, "mariadb-10.2", "mariadb-10.5"), r"\butf8mb3\b", "utf8"),
    _spelling(("mysql-5.5",), r"\b(TIME|DATETIME|TIMESTAMP)\(\d\)", r"\1"),
    _spelling(("mysql-5.5",), r" utf16le\b", " utf16"),
    _spelling(_OLD, r" JSON\b", " TEXT"),
    _spelling(_OLD, r"g INT AS \(a \+ 1\) STORED", "g INT"),
    _spelling(_ALL, r", gb18030 VARCHAR\(50\) CHARACTER SET gb18030", ", gb18030 VARCHAR(50)"),
    _spelling(_MARIADB, "DROP CHECK c_ab", "DROP CONSTRAINT c_ab"),
    _spelling(_MARIADB, "binlog_rows_query_log_events", "binlog_annotate_row_events"),
    _spelling(
        _MARIADB,
        "SESSION binlog_transaction_compression = ON",
        "GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10",
    ),
    _spelling(_MARIADB, "SESSION binlog_transaction_compression = OFF", "GLOBAL log_bin_compress = OFF"),
    _spelling(("mariadb-11.8",), "STRING_TO_VECTOR", "VEC_FromText"),
    # Its vectors have one length for all rows.
    _spelling(("mariadb-11.8",), "vd VECTOR,", "vd VECTOR(5),"),
    _spelling(("mariadb-11.8",), r"'\[(0\.1|1)\]'\),1", r"'[\1,0,0,0,0]'),1"),
    _spelling(("mariadb-11.8",), r"\('\[1\]'\)", "('[1,0,0]')"),
)

ABSENCES: Final = (
    _absence(_OLD, r"\bJSON_\w+\(|AS JSON\)", "JSON documents and functions: MySQL 5.7"),
    _absence(_OLD, r"\bt_default_expr\b", "expressions as defaults: MySQL 8.0"),
    _absence(_OLD, r"\bt_gen\b", "generated columns: MySQL 5.7"),
    _absence(_OLD, "WITH RECURSIVE", "recursive queries: MySQL 8.0"),
    _absence(_OLD, "DROP CHECK", "CHECK constraints: MySQL 8.0.16"),
    _absence(_OLD, "CREATE USER IF NOT EXISTS", "MySQL 5.7"),
    _absence(_OLD, "binlog_transaction_compression = ", "compressed transactions: MySQL 8.0.20"),
    _absence((*_OLD, "mariadb-10.2"), r"\bt_invisible\b", "invisible columns: MySQL 8.0.23, MariaDB 10.3"),
    _absence((*_OLD, "mariadb-10.2"), r"\brenamed_a\b", "RENAME COLUMN: MySQL 8.0, MariaDB 10.5"),
    _absence((*_OLD, "mariadb-10.2", "mariadb-10.5"), r"\bown\b", "UUID, INET6 and INET4: MariaDB 10.10"),
    _absence((*_OLD, *_MARIADB[:3]), r"\bvectors\b|\bvec\b", "VECTOR: MySQL 9.0, MariaDB 11.7"),
    _absence(_ALL, r"\bt_geom_srid\b", "columns of one SRID: MySQL 8.0"),
    _absence(_ALL, "sql_generate_invisible_primary_key", "MySQL 8.0.30"),
    _absence(_ALL, r"(TABLE|INTO) idx\b", "functional indexes and multi-valued ones: MySQL 8.0"),
    _absence(_ALL, r"\bchk_ne\b", "NOT ENFORCED: MySQL 8.0.16"),
    _absence(_ALL, "binlog_row_value_options", "partial JSON updates: MySQL 8.0"),
    _absence(_ALL, "compression_level_zstd", "a variable of MySQL 8.0.20"),
    _absence(_OLD, "mysql56_temporal_format", "a variable of MariaDB"),
    _absence(("mysql-5.5",), r"\bonl\b", "STATS_PERSISTENT and ALGORITHM: MySQL 5.6"),
    _absence(
        ("mysql-5.6", "mariadb-10.2"),
        r"ALGORITHM=INSTANT|INTO onl VALUES \((2|3),",
        "ALGORITHM=INSTANT: MySQL 8.0, MariaDB 10.3",
    ),
    _absence(("mysql-5.5",), r"\bt_default\b", "two columns with CURRENT_TIMESTAMP: MySQL 5.6"),
    _absence(("mysql-5.5",), "binlog_rows_query_log_events", "MySQL 5.6"),
    _absence(("mysql-5.5",), "binlog_row_image", "rows without some of their columns: MySQL 5.6"),
    _absence(("mysql-5.6",), r"\bctas\b", "CREATE TABLE ... SELECT with GTIDs: MySQL 8.0.21"),
    _absence(_MARIADB, r"AS JSON\)|AS YEAR\)", "casts to JSON and YEAR: MySQL"),
    _absence(_MARIADB[1:], r"INTO t_json VALUES \(60,", "documents over 32 levels deep: MySQL"),
)


def spelled(statement: str, release: Release) -> str:
    for names, pattern, replacement in SPELLINGS:
        if release.name in names:
            statement = pattern.sub(replacement, statement)
    return statement


def absent(release: Release) -> list[Absence]:
    return [each for each in ABSENCES if release.name in each.releases]
