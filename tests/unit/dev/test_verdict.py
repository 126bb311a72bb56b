"""The checker names each planted fault, and only that one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from core.role_log import RoleLog
from dev.checker.history import Change, Role, Seen, Transaction
from dev.checker.roles import read_roles
from dev.checker.verdict import Verdict, compare, judge, rebuilt


def history(transactions: int = 20, per: int = 3) -> tuple[list[Transaction], list[Seen]]:
    """Keys 0..4 over two partitions, no fault; the epoch rises in the middle."""
    journal: list[Transaction] = []
    seen: list[Seen] = []
    counters = dict.fromkeys(range(5), 0)
    offsets = {0: 0, 1: 0}
    serial = 0
    for number in range(transactions):
        changes = []
        for index in range(per):
            key = (number + index) % 5
            counters[key] += 1
            serial += 1
            changes.append(Change(key, counters[key], serial, "c" if counters[key] == 1 else "u"))
            partition = key % 2
            epoch = 7 if number < transactions // 2 else 9
            seen.append(
                Seen(
                    "t",
                    partition,
                    offsets[partition],
                    key,
                    counters[key],
                    changes[-1].op,
                    epoch,
                    f"gtid:{number}",
                    index,
                )
            )
            offsets[partition] += 1
        journal.append(Transaction(number, changes, "committed"))
    return journal, seen


def only(verdict: Verdict) -> set[str]:
    return {name for name, findings in verdict.findings() if findings}


def test_a_clean_history_is_clean() -> None:
    journal, seen = history()
    verdict = judge(journal, seen)
    assert verdict.clean
    assert (verdict.committed, verdict.delivered) == (60, 60)


def test_one_loss_is_named() -> None:
    journal, seen = history(per=1)
    missing = seen.pop(7)
    verdict = judge(journal, seen)
    assert only(verdict) == {"lost"}
    assert f"key {missing.key} counter {missing.counter}" in verdict.lost[0]


def test_half_a_transaction_is_torn_and_lost() -> None:
    journal, seen = history()
    seen.pop(7)
    assert only(judge(journal, seen)) == {"lost", "torn"}


def test_one_swap_is_named() -> None:
    journal, seen = history()
    first, second = [index for index, record in enumerate(seen) if record.key == 0][:2]
    a, b = seen[first], seen[second]
    seen[first] = msgspec.structs.replace(a, offset=b.offset)
    seen[second] = msgspec.structs.replace(b, offset=a.offset)
    assert only(judge(journal, seen)) == {"reordered"}


def test_one_duplicate_is_named() -> None:
    journal, seen = history()
    seen.append(msgspec.structs.replace(seen[-1], offset=1000))
    verdict = judge(journal, seen)
    assert only(verdict) == {"duplicated"}
    assert len(verdict.duplicated) == 1


def test_one_stale_epoch_is_named() -> None:
    journal, seen = history()
    seen[-1] = msgspec.structs.replace(seen[-1], epoch=7)
    assert only(judge(journal, seen)) == {"stale"}


def test_a_key_in_two_partitions_is_a_reorder() -> None:
    journal, seen = history()
    seen[-1] = msgspec.structs.replace(seen[-1], partition=1 - seen[-1].partition, offset=1000)
    assert only(judge(journal, seen)) == {"reordered"}


def test_rows_that_were_never_written_are_phantoms() -> None:
    journal, seen = history()
    seen.append(Seen("t", 0, 1000, 99, 1, "c", 9))
    assert only(judge(journal, seen)) == {"phantom"}


@pytest.mark.parametrize("kept", [0, 3])
def test_an_unknown_outcome_may_be_there_or_not_as_a_whole(kept: int) -> None:
    journal, seen = history()
    journal[-1].outcome = "unknown"
    assert judge(journal, seen[: len(seen) - 3 + kept]).clean


def test_an_unknown_outcome_that_is_half_there_is_torn() -> None:
    journal, seen = history()
    journal[-1].outcome = "unknown"
    assert only(judge(journal, seen[:-1])) == {"torn"}


def test_one_overlap_is_named() -> None:
    journal, seen = history()
    roles = [Role("host-a", 7, 0.0, 5.0), Role("host-b", 9, 4.9, 8.0)]
    verdict = judge(journal, seen, roles=roles)
    assert only(verdict) == {"overlap"}
    assert "host-a and host-b both emitted for 100 ms" in verdict.overlap[0]


def test_overlaps_are_found_in_the_role_logs_of_workers(tmp_path: Path) -> None:
    """Under one term, too: a worker that was replaced and goes on. A cut and a gap are none."""
    log = RoleLog(tmp_path, "orders", "host-a", 7)
    log.emitted(1.0, 1.0)
    log.emitted(2.0, 5.0)
    for host, epoch, begin, end in (("host-b", 9, 5.0, 8.0), ("host-c", 9, 7.75, 9.0), ("host-a", 11, 9.5, 10.0)):
        RoleLog(tmp_path, "orders", host, epoch).emitted(begin, end)
    roles = read_roles(tmp_path, "orders")
    assert [(role.begin, role.end) for role in roles] == [(1.0, 5.0), (5.0, 8.0), (7.75, 9.0), (9.5, 10.0)]
    verdict = judge([], [], roles=roles)
    assert only(verdict) == {"overlap"} and verdict.overlap_s == 0.25
    assert len(verdict.overlap) == 1 and "both emitted for 250 ms" in verdict.overlap[0]


def test_a_checkpoint_that_goes_back_is_named() -> None:
    journal, seen = history()
    verdict = judge(journal, seen, checkpoints=[("binlog.000001", 100), ("binlog.000001", 90)])
    assert only(verdict) == {"regressed"}


def test_tables_are_compared_row_by_row() -> None:
    table = rebuilt([(1, {"a": 1}), (2, {"a": 2}), (3, {"a": 3}), (1, {"a": 9}), (2, None)])
    assert table == {1: {"a": 9}, 3: {"a": 3}}
    assert compare(table, table) == []
    assert len(compare({1: {"a": 1}, 4: {}}, table)) == 3
