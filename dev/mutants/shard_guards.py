"""Guards of tables that are merged into one of the target."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_FORMAT: Final = ("tests/unit/assembly/test_row_images.py",)
_STREAM: Final = ("tests/integration/sink/mysql/test_shards.py",)
_SNAPSHOTS: Final = ("tests/integration/sink/mysql/test_shard_snapshots.py",)
_DDL: Final = ("tests/unit/assembly/test_target_ddl.py",)
_STATEMENTS: Final = "replicator/sink/mysql/shard_statements.py"

SHARDS: Final = (
    Guard(
        "shards: tables that nothing distinguishes are not written to one",
        "replicator/encode/row_images.py",
        "            if shard is None or its is None:\n",
        "            if False:\n",
        _FORMAT,
    ),
    Guard(
        "shards: tables with the same text in the added column are refused",
        "replicator/encode/row_images.py",
        "(shard.columns and _folded(shard) == _folded(its))",
        "False",
        _FORMAT,
    ),
    Guard(
        "shards: each key of the target has the added column",
        "replicator/sink/mysql/routes.py",
        "            shards.check_keys(target.session, table)\n",
        "",
        _STREAM,
    ),
    Guard(
        "shards: rows of tables with disjoint keys are compared before they are changed",
        "replicator/sink/mysql/conflicts/rules.py",
        "            return _STOP\n",
        "            return None\n",
        _STREAM,
    ),
    Guard(
        "shards: a snapshot replaces no row of another table",
        "replicator/sink/mysql/filling.py",
        "            return MISSING if _is_disjoint(rows) else self._of_rows\n",
        "            return self._of_rows\n",
        _SNAPSHOTS,
    ),
    Guard(
        "shards: TRUNCATE and DROP TABLE of one table leave the rows of the others alone",
        "replicator/assembly/shard_statements.py",
        'change.verb in ("DROP", "TRUNCATE") or',
        "",
        _DDL,
    ),
    Guard(
        "shards: a column that one table drops stays for the others",
        _STATEMENTS,
        "        if self._dropped:\n",
        "        if False:\n",
        _STREAM,
    ),
    Guard(
        "shards: no column becomes narrower",
        _STATEMENTS,
        "        return bool(wider) or (",
        "        return (",
        _STREAM,
    ),
    Guard(
        "shards: rows have the default of the statement of their own table",
        _STATEMENTS,
        "        changed.check_filled(definition, _defaults(session, after), fails)\n",
        "",
        _STREAM,
    ),
    Guard(
        "shards: verify reads the rows of one table",
        "replicator/verify/ordered.py",
        "self._pair.target, keys, self._pair.target_where)",
        'self._pair.target, keys, "")',
        _SNAPSHOTS,
    ),
)
