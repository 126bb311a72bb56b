"""Quotes identifiers in SQL text. Values are always passed as parameters."""

from __future__ import annotations


def quote_identifier(name: str) -> str:
    """`name` in backticks, as MySQL and MariaDB take it. Raises ValueError for what no identifier can be."""
    if not name or len(name) > 64 or "\0" in name:
        raise ValueError(f"not an identifier: {name!r}")
    return "`" + name.replace("`", "``") + "`"


def quote_account(account: str) -> str:
    """`user@host`, as CURRENT_USER() gives it, quoted for a GRANT statement that people copy."""
    user, _, host = account.rpartition("@")
    return "@".join("'" + part.replace("\\", "\\\\").replace("'", "''") + "'" for part in (user, host))
