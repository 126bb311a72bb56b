"""Since when something is wrong that no record has a time of: as long as this Monitor has seen it, without a gap."""

from __future__ import annotations

import msgspec

from monitor.problems.joined import problems
from monitor.problems.noticed import Noticed
from monitor.selected_view import selected
from monitor.view import View
from tests.unit.monitor.test_problems import NOW, row


def view(*names: str, at_ms: int) -> View:
    return View(root="/bus", read_ms=at_ms, tasks=tuple(row(name, standbys=()) for name in names))


def shown(noticed: Noticed, seen: View) -> dict[tuple[str, ...], tuple[int, bool]]:
    marked = msgspec.structs.replace(seen, noticed=noticed.note(seen))
    return {one.names: (one.since_ms, one.at_least) for one in problems(marked)}


def test_it_begins_with_the_first_look_and_lasts() -> None:
    noticed = Noticed()
    assert shown(noticed, view("a", at_ms=NOW)) == {("a",): (NOW, True)}
    assert shown(noticed, view("a", at_ms=NOW + 60_000)) == {("a",): (NOW, True)}


def test_what_has_ended_begins_again() -> None:
    noticed = Noticed()
    noticed.note(view("a", at_ms=NOW))
    noticed.note(view(at_ms=NOW + 1000))
    assert shown(noticed, view("a", at_ms=NOW + 2000)) == {("a",): (NOW + 2000, True)}


def test_of_several_the_oldest_counts() -> None:
    noticed = Noticed()
    noticed.note(view("b", at_ms=NOW))
    assert shown(noticed, view("a", "b", at_ms=NOW + 1000)) == {("a", "b"): (NOW, True)}


def test_a_time_of_a_record_is_exact() -> None:
    failed = View(root="/bus", read_ms=NOW, tasks=(row("a", state="FAILED", since_ms=NOW - 5),))
    assert shown(Noticed(), failed) == {("a",): (NOW - 5, False)}


def test_while_nothing_was_read_nothing_is_noticed() -> None:
    assert Noticed().note(view("a", at_ms=0)) == {}


def test_a_login_with_a_selector_does_not_see_names_of_other_tasks() -> None:
    seen = view("a", "b", at_ms=NOW)
    seen = msgspec.structs.replace(seen, noticed=Noticed().note(seen))
    assert set(seen.noticed) == {"task/a/no standby/", "task/b/no standby/"}
    assert selected(seen, "team=x").noticed == {}
