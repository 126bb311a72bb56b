"""Which address a worker connects to: never a refused one, never one that has not passed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.coordination.addresses.choice import plan, proposed, unusable
from replicator.coordination.addresses.task_addresses import TaskAddress
from replicator.coordination.records import AcceptedAddress
from replicator.errors import ProcessError

MISSING = {"code": "E4101", "what": "there is no address"}
ADDRESSES = st.sampled_from(["", "a:1", "b:1", "c:1"])


def address(wanted: str, accepted: str = "") -> TaskAddress:
    known = AcceptedAddress("shop/orders", accepted, cluster="K") if accepted else None
    return TaskAddress("source", "shop/orders", wanted, None if wanted else MISSING, known)


def test_the_first_address_is_recorded_once_it_has_passed() -> None:
    found = plan(address("a:1"))
    assert (found.address, found.on_trial, found.recorded) == ("a:1", False, False)


def test_a_changed_address_is_tried_with_the_former_behind_it() -> None:
    found = plan(address("b:1", "a:1"))
    assert (found.address, found.former, found.recorded, found.cluster) == ("b:1", "a:1", False, "K")


def test_a_refused_address_is_not_connected_to_and_checked_again() -> None:
    found = plan(address("b:1", "a:1"), refused="b:1")
    assert (found.address, found.proposal, found.recorded, found.on_trial) == ("a:1", "b:1", True, False)


def test_a_missing_name_keeps_what_is_accepted() -> None:
    assert plan(address("", "a:1")).address == "a:1"
    assert unusable([address("", "a:1")]) is None


def test_without_any_address_there_is_nothing_to_start() -> None:
    with pytest.raises(ProcessError) as error:
        plan(address(""))
    assert error.value.code == "E4101"
    assert unusable([address("a:1"), address("")]) == MISSING


@given(ADDRESSES, ADDRESSES, ADDRESSES)
def test_what_holds_always(wanted: str, accepted: str, refused: str) -> None:
    if not wanted and not accepted:
        return
    found = plan(address(wanted, accepted), refused)
    assert found.address in (wanted, accepted) and found.address
    if accepted and wanted == refused and wanted != accepted:
        assert found.address == accepted
    assert found.recorded == (found.address == accepted)
    assert found.on_trial == (bool(accepted) and not found.recorded)
    if found.recorded:
        assert proposed(found, wanted) == (wanted if wanted not in ("", accepted) else "")
