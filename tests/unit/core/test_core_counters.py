"""What a Core counts over all its tasks."""

from __future__ import annotations

from core.core_counters import CoreCounters
from replicator.codes import CODES
from replicator.coordination.records import CoreCounts
from replicator.model.core_events import UNSUPPORTED


def test_what_happened() -> None:
    counters = CoreCounters()
    assert counters.counts() == CoreCounts()
    counters.fenced("sink")
    counters.fenced("sink")
    counters.checkpoint_failed("lost")
    counters.refused({"code": "E2309"})
    counters.refused({"code": "E3102"})
    counters.refused({})
    assert counters.counts() == CoreCounts({"sink": 2}, {"lost": 1}, {"ddl": 1})


def test_each_unsupported_event_has_a_code_and_a_name_of_its_own() -> None:
    assert UNSUPPORTED.keys() <= CODES.keys()
    assert len(set(UNSUPPORTED.values())) == len(UNSUPPORTED)
