"""What the fuzzer found once, and what must hold for damaged binlogs: coded errors, and both decoders alike."""

from __future__ import annotations

import random
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from dev.fuzz.bend import FORMS, bent
from dev.fuzz.case import Case, cases
from dev.fuzz.check import SINKS, Broken, _check_prefix, check, outcome
from dev.fuzz.seeds import KEPT, recorded, seeds
from replicator import compiled
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder

RECORDED = dict(recorded())
SEEDS = list(seeds())


@pytest.fixture(autouse=True)
def _compiled() -> None:
    if not compiled.available():
        pytest.skip(f"the compiled code is not there: {compiled.why_not()}")


@pytest.mark.parametrize("path", sorted(KEPT.iterdir()), ids=lambda path: path.name)
def test_found_once(path: Path) -> None:
    check(Case.parse(path.read_bytes()))


def test_a_case_is_what_it_was_before_it_was_packed() -> None:
    for case in SEEDS:
        assert Case.parse(case.pack()) == case


@pytest.mark.parametrize(("ahead", "holds"), [(1, False), (0, True), (-1, True)])
def test_the_check_sees_a_record_of_a_damaged_event(ahead: int, holds: bool) -> None:
    """Given what comes of the events up to the damaged one, of one more or one less."""
    case = next(case for case in SEEDS if 30 in [kind for kind, _, _ in case.events])
    number = [kind for kind, _, _ in case.events].index(30)
    damaged = replace(case, at=sum(map(len, case.raw()[:number])) + 9, damage=1)
    assert damaged.before_damage().events == case.events[:number]
    found = outcome(BinlogDecoder, replace(case, events=case.events[: number + ahead]))
    with nullcontext() if holds else pytest.raises(Broken):
        _check_prefix(damaged, found)


def test_what_the_fuzzer_begins_with_is_decoded_to_its_end() -> None:
    """But for the recordings of what is refused: statements, partial images, metadata that is not FULL."""
    errors = [part[2]["code"] for case in SEEDS for part in outcome(BinlogDecoder, case) if part[0] == "error"]
    assert sorted(errors) == ["E2303", "E2303", "E2304", "E2306"]


def test_every_format_decodes_what_the_fuzzer_begins_with() -> None:
    """Rows among it. That both decoders make the same of it, tests/unit/compiled says."""
    assert len(SINKS) == FORMS
    case = next(case for case in SEEDS if 30 in [kind for kind, _, _ in case.events])
    for form in range(FORMS):
        found = outcome(CompiledDecoder, replace(case, form=form))
        assert found[0][0], SINKS[form]


def test_bent_events() -> None:
    """A minute of the fuzzer in a second: without coverage, and always the same."""
    dice = random.Random(4)
    for _ in range(150):
        case = replace(dice.choice(SEEDS), form=dice.randrange(FORMS))
        for _ in range(dice.randrange(1, 4)):
            case = bent(case, dice, lambda body, most: body[:most], SEEDS)
        check(case)


@pytest.mark.parametrize("name", ["mysql_transactions.bin", "mariadb_transactions.bin"])
def test_no_flipped_byte_gives_a_record(name: str) -> None:
    """With checksums a changed byte is met before anything comes of its event."""
    (raw,) = (raw for path, raw in RECORDED.items() if path.name == name)
    (case,) = cases(raw, mariadb=name.startswith("mariadb"), most=1 << 20)
    size = len(case.stream())
    for at in range(0, size, 97):
        damaged = replace(case, at=at, damage=1 << at % 8)
        check(damaged)
        errors = [part[2] for part in outcome(BinlogDecoder, damaged) if part[0] == "error"]
        assert not errors or (errors[0]["code"] in ("E2302", "E2301") and "binlog.00000" in errors[0]["position"])
