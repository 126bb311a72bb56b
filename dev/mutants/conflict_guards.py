"""Guards of conflicts: rows of a target that are not what the source says they were."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_RESOLVE: Final = "replicator/sink/mysql/conflicts/resolve.py"
_FOUND: Final = "replicator/sink/mysql/conflicts/found_rows.py"
_RESOLVER: Final = "replicator/sink/mysql/conflicts/resolver.py"
_TABLE: Final = "replicator/sink/mysql/conflicts/conflict_table.py"
_TRANSACTION: Final = "replicator/sink/mysql/transaction.py"
_DECISIONS: Final = ("tests/unit/sink/mysql/test_resolve.py",)
_POLICIES: Final = ("tests/integration/sink/mysql/test_conflicts.py",)
_FAULTS: Final = ("tests/integration/sink/mysql/test_conflict_faults.py",)
_TYPES: Final = ("tests/integration/sink/mysql/test_conflict_types.py",)
_COLLATIONS: Final = ("tests/integration/sink/mysql/test_conflict_collations.py",)

CONFLICTS: Final[tuple[Guard, ...]] = (
    Guard(
        "conflicts: rows with a unique value of another one are seen",
        _RESOLVE,
        "        return [owner for owner in owners if owner is not None and owner not in own]\n",
        "        return []\n",
        _DECISIONS,
    ),
    Guard(
        "conflicts: a later change meets what an earlier one has left",
        _RESOLVE,
        "        self._follow(done)\n        return done, conflicts\n",
        "        return done, conflicts\n",
        _DECISIONS,
    ),
    Guard(
        "conflicts: a newer row is not replaced",
        _RESOLVE,
        "            return one > other\n",
        "            return True\n",
        _DECISIONS,
    ),
    Guard(
        "conflicts: rows of the same time are decided alike by both directions",
        _RESOLVE,
        '        return [value or b"" for value in ours] > [value or b"" for value in theirs]\n',
        "        return True\n",
        _DECISIONS,
    ),
    Guard(
        "conflicts: a difference that is noticed by chance counts for nothing",
        _RESOLVE,
        "elif differences and not self._same(",
        "elif not self._same(",
        _DECISIONS,
    ),
    Guard(
        "conflicts: documents are compared by value",
        _RESOLVER,
        "        return documents.equal(text(one), text(other))\n",
        "        return one == other\n",
        _TYPES,
    ),
    Guard(
        "conflicts: keys are equal under their collation",
        _RESOLVER,
        "            return folds[column][value] if column in folds else value\n",
        "            return value\n",
        _POLICIES,
    ),
    Guard(
        "conflicts: spaces at the end of a key",
        _FOUND,
        '    return "nopad" not in collation and "_0900_" not in collation\n',
        "    return False\n",
        _COLLATIONS,
    ),
    Guard(
        "conflicts: the levels of a collation",
        _FOUND,
        'return (" LEVEL 1", " LEVEL 2", " LEVEL 3") if self._target.server.mariadb else ("",)',
        'return ("",)',
        _COLLATIONS,
    ),
    Guard(
        "conflicts: rows are read behind the fence",
        _TRANSACTION,
        "        if not self._open:\n            self._send(RowGroup(), None)\n",
        "",
        _FAULTS,
    ),
    Guard(
        "conflicts: parts before the one with a conflict remain",
        _TRANSACTION,
        '(_TO_SAVEPOINT if was_open else b"ROLLBACK", *self._target.restored)',
        '(b"ROLLBACK", *self._target.restored)',
        _FAULTS,
    ),
    Guard(
        "conflicts: dead letters are not deleted",
        _TABLE,
        """AND policy <> '{_LETTER}' AND id <= %s",""",
        """AND id <= %s",""",
        _FAULTS,
    ),
    Guard(
        "conflicts: dead letters have a bound",
        _TABLE,
        """        if session.rows(f"{select} = '{_LETTER}'{last}", of_task):\n""",
        "        if False:\n",
        _FAULTS,
    ),
)
