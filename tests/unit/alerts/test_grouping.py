"""When messages are due, and what they have."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.alerts.evaluation import Active
from replicator.alerts.grouping import Due, Groups, Plan, plan
from replicator.alerts.machine import Alert
from replicator.alerts.route import Http, Route, labels_of, routes_for, shown_address
from replicator.alerts.rule import Severity


def alert(rule: str, name: str = "a", severity: Severity = "warning", fired_ms: int = 0, **labels: str) -> Active:
    state = Alert(state="firing", since_ms=fired_ms, seen_ms=fired_ms, fired_ms=fired_ms)
    return Active(
        rule=rule, of="task", name=name, severity=severity, summary=f"{rule} {name}", runbook="", labels=labels,
        alert=state,
    )  # fmt: skip


def route(name: str = "r", **more: object) -> Route:
    return Route(name=name, kind="webhook", to=Http(url="http://h/"), **more)  # type: ignore[arg-type]


class Sender:
    """Sends all that is due, one second after the other."""

    def __init__(self, *routes: Route) -> None:
        self.routes = routes
        self.groups: Groups = {}
        self.sent: list[tuple[int, Due]] = []

    def plan(self, now_s: int, loud: list[Active], active: list[Active] | None = None) -> Plan:
        keys = {one.key for one in (loud if active is None else active)}
        return plan(self.routes, loud, keys, self.groups, 1_000_000 + now_s * 1000)

    def at(self, now_s: int, loud: list[Active], active: list[Active] | None = None) -> list[Due]:
        found = self.plan(now_s, loud, active)
        self.groups = found.groups
        for due in found.due:
            self.sent.append((now_s, due))
            if due.after is None:
                self.groups.pop(due.key)
            else:
                self.groups[due.key] = due.after
        return found.due


def test_a_group_waits_and_comes_in_one_message() -> None:
    sender = Sender(route(group_wait_s=30))
    assert sender.at(0, [alert("Lag", "a")]) == []
    assert sender.at(20, [alert("Lag", "a"), alert("Lag", "b")]) == []
    (due,) = sender.at(30, [alert("Lag", "a"), alert("Lag", "b")])
    assert [one.name for one in due.firing] == ["a", "b"] and due.labels == {"rule": "Lag"}
    assert sender.at(31, [alert("Lag", "a"), alert("Lag", "b")]) == []


def test_changes_come_after_the_interval_and_repetitions_later() -> None:
    sender = Sender(route(group_wait_s=0, group_interval_s=300, repeat_s=3600))
    sender.at(0, [alert("Lag", "a")])
    assert sender.at(299, [alert("Lag", "a"), alert("Lag", "b")]) == []
    (due,) = sender.at(300, [alert("Lag", "a"), alert("Lag", "b")])
    assert [one.name for one in due.firing] == ["a", "b"]
    (due,) = sender.at(600, [alert("Lag", "b")])
    assert [one.name for one in due.firing] == ["b"] and [one.name for one in due.resolved] == ["a"]
    assert sender.at(600 + 3599, [alert("Lag", "b")]) == []
    (due,) = sender.at(600 + 3600, [alert("Lag", "b")])
    assert not due.resolved
    (due,) = sender.at(600 + 3600 + 300, [])
    assert not due.firing and [one.name for one in due.resolved] == ["b"]
    assert sender.groups == {} and sender.at(99_999, []) == []


def test_what_ends_within_the_wait_is_not_sent() -> None:
    sender = Sender(route(group_wait_s=30))
    sender.at(0, [alert("Lag")])
    assert sender.at(10, []) == [] and sender.groups == {}
    assert sender.at(40, [alert("Lag")]) == []


def test_silenced_and_pending_alerts_are_not_resolved() -> None:
    sender = Sender(route(group_wait_s=0, group_interval_s=10, repeat_s=60))
    sender.at(0, [alert("Lag")])
    for now in (10, 100, 1000):
        assert sender.at(now, [], [alert("Lag")]) == []
    (due,) = sender.at(1010, [], [])
    assert [one.rule for one in due.resolved] == ["Lag"]


def test_an_alert_that_is_silenced_from_the_start_is_never_sent() -> None:
    sender = Sender(route(group_wait_s=0))
    assert sender.at(0, [], [alert("Lag")]) == [] and sender.at(5000, [], []) == []


def test_routes_match_in_their_order() -> None:
    pager = route("pager", match={"severity": ("critical",)}, goes_on=True)
    team = route("team", match={"team": ("orders", "shop")})
    rest = route("rest")

    def names(one: Active) -> list[str]:
        return [each.name for each in routes_for(labels_of(one), (pager, team, rest))]

    assert names(alert("Lag", severity="critical", team="shop")) == ["pager", "team"]
    assert names(alert("Lag", severity="critical")) == ["pager", "rest"]
    assert names(alert("Lag", team="orders")) == ["team"]
    assert names(alert("Lag")) == ["rest"]


def test_a_label_cannot_claim_another_severity() -> None:
    one = msgspec.structs.replace(alert("Lag"), labels={"rule": "Other", "severity": "critical", "task": "b"})
    assert labels_of(one) == {"rule": "Lag", "severity": "warning", "task": "a", "of": "task", "name": "a"}


def test_a_route_that_was_removed_forgets_its_groups() -> None:
    sender = Sender(route(group_wait_s=0))
    sender.at(0, [alert("Lag")])
    sender.routes = (route("other", match={"rule": ("None",)}),)
    assert sender.at(5, []) == [] and sender.groups == {}


def test_the_worst_come_first() -> None:
    sender = Sender(route(group_wait_s=0))
    found = sender.at(
        0, [alert(f"Rule{number}", severity="warning") for number in range(8)] + [alert("Z", severity="critical")]
    )
    assert found[0].firing[0].rule == "Z"


def test_addresses_are_shown_without_what_may_be_secret() -> None:
    assert shown_address(msg("https://hooks.example.com/services/T0/B0/secret?x=y")) == "https://hooks.example.com"
    assert shown_address(msg("env:SLACK_URL")) == "env:SLACK_URL"


def msg(url: str) -> Route:
    return Route(name="r", kind="slack", to=Http(url=url))


NAMES = st.sets(st.sampled_from("abc"))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 400), NAMES), max_size=40), st.booleans())
def test_every_end_of_what_was_sent_is_sent_once_also_by_a_successor(
    ticks: list[tuple[int, set[str]]], deposed: bool
) -> None:
    """Whoever reads the messages knows in the end that nothing fires. A successor has the groups and nothing else."""
    sender, now = Sender(route(group_wait_s=30, group_interval_s=60, repeat_s=600)), 0
    known: set[str] = set()
    for index, (passed, firing) in enumerate([*ticks, (1000, set()), (1000, set())]):
        now += passed
        if deposed and index % 3 == 0:
            successor = Sender(*sender.routes)
            successor.groups = dict(sender.groups)
            sender = successor
        for due in sender.at(now, [alert("Lag", name) for name in sorted(firing)]):
            told = {one.name for one in due.firing}
            ended = {one.name for one in due.resolved}
            assert ended <= known, "an end of what nobody was told"
            assert told == firing
            known = (known | told) - ended
    assert known == set() and sender.groups == {}
