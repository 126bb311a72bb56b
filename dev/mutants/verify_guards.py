"""Guards of `replicator verify`: what keeps it from calling unequal rows equal, and equal rows different."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_COMPARE: Final = "replicator/verify/compare.py"
_BUCKETS: Final = "replicator/verify/buckets.py"
_RECHECK: Final = "replicator/verify/recheck.py"
_COMPARE_TESTS: Final = ("tests/unit/verify/test_compare.py",)
_RECHECK_TESTS: Final = ("tests/unit/verify/test_recheck.py",)

_STATES: Final = "replicator/verify/topics/states.py"
_STATES_TESTS: Final = ("tests/unit/verify/topics/test_states.py",)

VERIFY: Final[tuple[Guard, ...]] = (
    Guard(
        "verify: rows that only the target has are extra",
        _COMPARE,
        "        found += (Difference(key, None, row) for key, rows in theirs.items() for row in rows)",
        "        found += ()",
        _COMPARE_TESTS,
    ),
    Guard(
        "verify: NULL and the empty value have different hashes",
        _BUCKETS,
        "parts = [_NULL if value is None else",
        "parts = [bytes(8) if value is None else",
        _COMPARE_TESTS,
    ),
    Guard(
        "verify: a value is hashed with its length",
        _BUCKETS,
        'else len(value).to_bytes(8, "little") + value for',
        "else value for",
        _COMPARE_TESTS,
    ),
    Guard(
        "verify: one look does not decide, even if the source did not change",
        _RECHECK,
        "_UNCHANGED_ROUNDS: Final = 2",
        "_UNCHANGED_ROUNDS: Final = 1",
        _RECHECK_TESTS,
    ),
    Guard(
        "verify: other values than in the round before are counted from the beginning",
        _RECHECK,
        "if before is not None and before.values == each.values:",
        "if before is not None:",
        _RECHECK_TESTS,
    ),
    Guard(
        "verify: records of a key in two partitions have no order",
        _STATES,
        "if earlier[_PLACE] == value[_PLACE] and not earlier[0] & _ELSEWHERE:",
        "if not earlier[0] & _ELSEWHERE:",
        _STATES_TESTS,
    ),
    Guard(
        "verify: a record that changes a key deletes the row of the former one",
        _STATES,
        "if before is not None and before != after:",
        "if before is not None and after is None:",
        _STATES_TESTS,
    ),
    Guard(
        "verify: rows of a topic from before TRUNCATE are gone",
        _STATES,
        "if state.present and state.offset < self.emptied",
        "if state.present and 0 < self.emptied",
        _STATES_TESTS,
    ),
    Guard(
        "verify: hashes in files are joined with those in memory",
        "replicator/verify/topics/spill.py",
        "        for key, value in self._parts[number].items():",
        "        for key, value in ():",
        ("tests/unit/verify/topics/test_spill.py",),
    ),
    Guard(
        "verify: rows without a record are counted behind the source",
        "replicator/verify/topics/verifier.py",
        "                joined = join(rows, states, compared, self._options.max_differences)\n            self",
        "            self",
        ("tests/unit/verify/topics/test_topic_verifier.py",),
    ),
    Guard(
        "verify: a result of a deleted task is not kept for a new one of its name",
        "replicator/coordination/tasks/verifications.py",
        "if node.record.uid != report.uid or report.version > node.version:",
        "if report.version > node.version:",
        ("tests/unit/server/test_verifications.py",),
    ),
    Guard(
        "verify: a result of another incarnation is not shown",
        "replicator/coordination/tasks/verifications.py",
        "return found if found is not None and found.uid == uid else None",
        "return found",
        ("tests/unit/server/test_verifications.py",),
    ),
    Guard(
        "verify: a run of some tables does not count as one that found all equal",
        "replicator/model/verification.py",
        'is_equal = report.whole and result == "equal"',
        'is_equal = result == "equal"',
        ("tests/unit/model/test_verification.py",),
    ),
    Guard(
        "verify: results of another configuration are dropped",
        "replicator/model/verification.py",
        "(before.uid, before.version) == (report.uid, report.version) else None",
        "before.uid == report.uid else None",
        ("tests/unit/model/test_verification.py",),
    ),
)
