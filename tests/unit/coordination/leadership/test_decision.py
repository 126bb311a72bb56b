"""Decisions, one at a time: a view, the facts, and what follows."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from replicator.coordination.leadership.actions import (
    AdoptConfig,
    Complete,
    ConfirmFencing,
    DrainWorker,
    Fail,
    Hold,
    KillWorker,
    Lose,
    OpenTerm,
    Pause,
    Release,
    RemoveTask,
    Retry,
    Save,
    SetPosition,
    Stand,
    StartWorker,
    Stood,
    Sweep,
    Unconfigure,
    WatchPredecessor,
    Win,
    Withdraw,
)
from replicator.coordination.leadership.decision import decide
from replicator.coordination.leadership.election import Contender, Field
from replicator.coordination.leadership.facts import Facts, Failure, Fenced, WorkerFacts
from replicator.coordination.leadership.grace import Memory, margin, remember
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import Config, TaskView
from replicator.coordination.records import CommandRecord, CommitRecord
from replicator.coordination.tasks.commands import Pending
from replicator.coordination.tasks.commits import Commit
from replicator.coordination.tasks.position_changes import stood
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position

NOW = 500.0
T = 6.0
OWN, RIVAL, THIRD = "a" * 32, "b" * 32, "c" * 32
SESSION = 1
NOTHING = Memory()
CONFIG = Config(3, {"name": "copy"})
SAVED = Checkpoint(Position("binlog.000001", 100))


def contender(guid: str = OWN, sequence: int = 5, owner: int = SESSION) -> Contender:
    host = {OWN: "own", RIVAL: "rival", THIRD: "third"}[guid]
    return Contender(f"{host}-{guid}-{sequence:010d}", host, guid, sequence, 1000 + sequence, owner, None)


def view(*contenders: Contender, **changes: Any) -> TaskView:
    field = Field(tuple(sorted(contenders, key=lambda entry: entry.sequence)))
    base = TaskView(
        task="copy",
        session=SESSION,
        timeout=T,
        exists=True,
        uid="u",
        config=CONFIG,
        config_version=3,
        field=field,
        own=field.own(OWN, SESSION),
    )
    return msgspec.structs.replace(base, **changes)


def commit(epoch: int = 1005, checkpoint: Checkpoint | None = SAVED, **changes: Any) -> Commit:
    record = CommitRecord(epoch=epoch, checkpoint=checkpoint, session=SESSION, timeout_s=T)
    return Commit(msgspec.structs.replace(record, **changes), 4, 2000)


def facts(state: State = State.STANDBY, **changes: Any) -> Facts:
    base = Facts(guid=OWN, state=state, czxid=0 if state is State.ABSENT else 1005, opened=True, good=CONFIG)
    return msgspec.structs.replace(base, **changes)


def leading(state: State, worker: WorkerFacts | None = None, **changes: Any) -> Facts:
    return facts(state, worker=worker, opened_zxid=1500, **changes)


def command(verb: str, czxid: int = 3000, **arguments: str) -> tuple[Pending, ...]:
    return (Pending("/c/1", czxid, CommandRecord(id="i", verb=verb, arguments=arguments, by="me")),)


RUNS = WorkerFacts(CONFIG, streaming=True)


def test_last_commit_of_another_incarnation_is_not_inherited():
    [action] = decide(facts(State.WAITING), view(contender(), commit=commit(999, released=True, uid="old")), NOW)
    assert isinstance(action, Fail)
    assert action.error["code"] == "E4009"


class TestJoining:
    def test_stands_when_nothing_of_ours_stands(self):
        assert decide(facts(State.ABSENT), view(), NOW) == [Stand()]
        assert decide(facts(State.ABSENT), view(restoring=True), NOW) == []

    def test_finds_its_node_again(self):
        assert decide(facts(State.ABSENT), view(contender()), NOW) == [Stood()]

    def test_a_node_of_an_earlier_session_of_ours_is_not_ours(self):
        assert decide(facts(State.ABSENT), view(contender(owner=99)), NOW) == [Stand()]

    def test_a_ghost_of_a_lost_reply_is_swept(self):
        ghost = contender(sequence=9)
        assert decide(facts(), view(contender(), ghost), NOW) == [Sweep((ghost.name,))]

    def test_nothing_to_do_for_a_task_that_is_not_there(self):
        assert decide(facts(State.ABSENT), view(exists=False), NOW) == []
        assert decide(facts(), view(exists=False), NOW) == [Lose("the task was deleted")]

    def test_watches_its_predecessor_only(self):
        first, second = contender(RIVAL, 1, 2), contender(THIRD, 3, 3)
        assert decide(facts(), view(first, second, contender()), NOW) == [WatchPredecessor(second.name)]

    def test_wins_with_the_smallest_sequence(self):
        assert decide(facts(), view(contender(), contender(RIVAL, 8, 2)), NOW) == [Win()]


class TestMaintenance:
    def test_nobody_is_promoted(self):
        seen = view(contender(), contender(RIVAL, 8, 2), maintenance=True)
        assert decide(facts(), seen, NOW) == []
        assert decide(facts(State.WAITING, opened=False), seen, NOW) == []

    def test_whoever_runs_goes_on_and_does_not_switch(self):
        seen = view(contender(), contender(RIVAL, 8, 2), commit=commit(), maintenance=True)
        assert decide(leading(State.RUNNING, RUNS), seen, NOW) == []
        asked = msgspec.structs.replace(seen, commands=command("switchover"))
        (done,) = decide(leading(State.RUNNING, RUNS), asked, NOW)
        assert isinstance(done, Complete) and done.kind == "refused"


class TestPositionOrdered:
    WANTED = Checkpoint(Position("binlog.000001", 50, reset=1))

    def order(self, known: Facts, before: Checkpoint | None = SAVED, text: str | None = None) -> Any:
        checkpoint = msgspec.json.encode(self.WANTED).decode() if text is None else text
        pending = command("position", checkpoint=checkpoint, stood=stood(before).decode())
        (done,) = decide(known, view(contender(), commit=commit(), commands=pending, desired="paused"), NOW)
        return done

    @pytest.mark.parametrize("state", [State.PAUSED, State.FAILED, State.UNCONFIGURED])
    def test_is_set_while_nobody_runs(self, state):
        assert self.order(leading(state)) == SetPosition("/c/1", self.WANTED, "", "me")

    def test_is_refused_while_somebody_runs(self):
        assert self.order(leading(State.RUNNING, RUNS)).kind == "refused"
        assert self.order(leading(State.IDLE)).kind == "refused"

    def test_is_refused_when_the_task_stands_elsewhere_by_now(self):
        for position in (
            Position("binlog.000001", 99),
            Position("binlog.000001", 100, "0-1-7"),  # shown alike
            Position("binlog.000001", 100, reset=1),
        ):
            assert self.order(leading(State.PAUSED), before=Checkpoint(position)).kind == "refused"
        assert self.order(leading(State.PAUSED), before=None).kind == "refused"

    def test_is_refused_when_nobody_understands_it(self):
        assert self.order(leading(State.PAUSED), text="{}").kind == "refused"


class TestSkip:
    UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    STOOD = Checkpoint(Position("binlog.000001", 100, f"{UUID}:1-7", rows=3), time_ms=5)
    ERROR: ClassVar[dict[str, str]] = {"code": "E2307", "what": "a value", "transaction": f"{UUID}:9"}

    def order(self, known: Facts, transaction: str = f"{UUID}:9", **changes: Any) -> list[Any]:
        pending = command("skip", transaction=transaction, reason="ticket 1")
        seen = view(contender(), commit=commit(checkpoint=self.STOOD), commands=pending, **changes)
        return decide(known, seen, NOW)

    def failed(self, error: dict[str, str] | None = None) -> Facts:
        return leading(State.FAILED, failure=Failure(error or self.ERROR, 3))

    def test_the_transaction_of_our_own_failure_is_passed_and_the_task_tried_again(self):
        passed, retry = self.order(self.failed())
        wanted = Checkpoint(Position("binlog.000001", 100, f"{self.UUID}:1-7:9", reset=1), time_ms=5)
        assert passed == SetPosition("/c/1", wanted, f"transaction {self.UUID}:9 skipped: ticket 1", "me")
        assert retry == Retry("retry", "me")

    @pytest.mark.parametrize("asked", [f"{UUID}:8", f"{UUID}:10", f"{UUID}:9-10", "", "rubbish", "0-1-9"])
    def test_no_other(self, asked):
        (done,) = self.order(self.failed(), asked)
        assert isinstance(done, Complete) and (done.kind, done.path) == ("refused", "/c/1")

    def test_not_when_it_has_failed_at_another_one_since_the_operator_looked(self):
        (done,) = self.order(self.failed({**self.ERROR, "transaction": f"{self.UUID}:11"}))
        assert done.kind == "refused" and "did not fail at" in done.reason

    def test_not_when_the_error_is_of_none(self):
        (done,) = self.order(self.failed({"code": "E3103", "what": "not allowed"}))
        assert done.kind == "refused" and "does not concern a single transaction" in done.reason

    @pytest.mark.parametrize("state", [State.IDLE, State.PAUSED, State.UNCONFIGURED])
    def test_not_unless_it_has_failed(self, state):
        (done,) = self.order(leading(state), desired="paused")
        assert done.kind == "refused"

    def test_not_while_it_runs(self):
        (done,) = self.order(leading(State.RUNNING, RUNS))
        assert done.kind == "refused"


class TestFailed:
    def test_what_was_delivered_before_is_saved_first(self):
        reached = Checkpoint(Position("binlog.000001", 300))
        known = leading(State.FAILED, failure=Failure({"code": "E3102"}, 3), checkpoint=reached)
        asked = view(contender(), commit=commit(), commands=command("retry"))
        assert decide(known, asked, NOW) == [Save(reached)]
        saved = msgspec.structs.replace(asked, commit=commit(checkpoint=reached))
        assert decide(known, saved, NOW)[0] == Retry("retry", "me")


class TestTakingOver:
    def wait(self, last: Commit, memory: Memory = NOTHING, **changes: Any) -> list[Any]:
        seen = view(contender(), contender(RIVAL, 8, 2), commit=last, **changes)
        return decide(facts(State.WAITING, opened=False, memory=remember(memory, seen, NOW)), seen, NOW)

    def test_at_once_when_nobody_ever_led(self):
        assert self.wait(Commit(None)) == [OpenTerm()]

    def test_at_once_after_a_release(self):
        assert self.wait(commit(900, session=7, released=True)) == [OpenTerm()]

    def test_at_once_when_the_session_of_the_last_term_ended(self):
        assert self.wait(commit(900, session=7), Memory(ended=900)) == [OpenTerm()]

    def test_waits_for_the_lease_when_nothing_proves_that_it_ended(self):
        until = NOW + T * 2 / 3 + margin(T)
        assert self.wait(commit(900, session=7)) == [Hold(until)]
        assert self.wait(commit(900, session=7), Memory(ended=899)) == [Hold(until)]

    def test_the_wait_is_as_long_as_the_last_terms_timeout(self):
        long = self.wait(commit(900, session=2, timeout_s=60.0))
        assert long == [Hold(NOW + 40 + margin(60.0))]

    def test_the_wait_begins_when_the_node_was_first_missed(self):
        memory = Memory(missing_epoch=900, missing_since=NOW - 4.2)
        assert self.wait(commit(900, session=2), memory) == [Hold(NOW - 4.2 + 4 + margin(T))]
        memory = Memory(missing_epoch=900, missing_since=NOW - 4.4)
        assert self.wait(commit(900, session=2), memory) == [OpenTerm()]

    def test_a_term_of_our_own_session_is_over(self):
        assert self.wait(commit(900, session=SESSION)) == [OpenTerm()]

    def test_a_term_of_our_own_earlier_session_is_over(self):
        assert self.wait(commit(900, session=7), Memory(own=900)) == [OpenTerm()]

    def test_a_position_that_was_there_and_is_gone(self):
        [action] = self.wait(Commit(None), Memory(uid="u", checkpoint=SAVED))
        assert isinstance(action, Fail)
        assert action.error["code"] == "E4004"

    def test_a_position_that_was_there_before_all_of_us_were_started(self):
        [action] = self.wait(Commit(None), delivered=True)
        assert isinstance(action, Fail)
        assert action.error["code"] == "E4004"
        assert "position history" in action.error["fix"]

    def test_another_incarnation_of_the_name_has_no_position_to_lose(self):
        assert self.wait(Commit(None), Memory(uid="older", checkpoint=SAVED)) == [OpenTerm()]

    def test_a_last_commit_nobody_understands(self):
        [action] = self.wait(Commit(None), commit_error={"code": "E4009", "what": "x"})
        assert action == Fail({"code": "E4009", "what": "x"})

    def test_an_epoch_later_than_ours(self):
        [action] = self.wait(commit(9999, session=7))
        assert isinstance(action, Fail)
        assert action.error["code"] == "E4009"

    def test_steps_aside_for_the_chosen_successor(self):
        released = commit(900, released=True, successor=RIVAL)
        seen = view(contender(), contender(RIVAL, 8, 2), commit=released)
        assert decide(facts(), seen, NOW) == [Withdraw("the chosen successor comes first")]

    def test_leads_when_the_chosen_successor_is_gone(self):
        released = commit(900, released=True, successor=THIRD)
        assert decide(facts(), view(contender(), contender(RIVAL, 8, 2), commit=released), NOW) == [Win()]


class TestLeading:
    def test_starts_from_the_stored_checkpoint(self):
        assert decide(leading(State.IDLE), view(contender(), commit=commit()), NOW) == [StartWorker(CONFIG, SAVED)]

    def test_saves_what_the_last_worker_delivered_first(self):
        further = Checkpoint(Position("binlog.000001", 300))
        known = leading(State.IDLE, checkpoint=further)
        assert decide(known, view(contender(), commit=commit()), NOW) == [Save(further)]
        stored = commit(checkpoint=further)
        assert decide(known, view(contender(), commit=stored), NOW) == [StartWorker(CONFIG, further)]

    def test_never_saves_what_is_behind(self):
        known = leading(State.IDLE, checkpoint=Checkpoint(Position("binlog.000001", 50)))
        assert decide(known, view(contender(), commit=commit()), NOW) == [StartWorker(CONFIG, SAVED)]

    def test_rests_while_it_runs(self):
        assert decide(leading(State.RUNNING, RUNS), view(contender(), commit=commit()), NOW) == []

    def test_waits_before_it_starts_a_dead_worker_again(self):
        known = leading(State.STARTING, restart_at=NOW + 3)
        assert decide(known, view(contender(), commit=commit()), NOW) == [Hold(NOW + 3)]
        assert decide(known, view(contender(), commit=commit()), NOW + 3) == [StartWorker(CONFIG, SAVED)]

    def test_loses_when_its_node_is_gone(self):
        assert decide(leading(State.RUNNING, RUNS), view(contender(RIVAL, 8, 2)), NOW) == [
            Lose("the election znode of this process is gone")
        ]

    def test_loses_when_its_node_is_another(self):
        [action] = decide(leading(State.RUNNING, RUNS), view(contender(sequence=6)), NOW)
        assert isinstance(action, Lose)

    def test_withdraws_when_somebody_appears_before_it(self):
        [action] = decide(leading(State.RUNNING, RUNS), view(contender(RIVAL, 1, 2), contender()), NOW)
        assert isinstance(action, Withdraw)

    def test_asks_for_its_node_when_the_sink_fences(self):
        fenced = Fenced({"code": "E3104", "what": "a later term writes"})
        [action] = decide(leading(State.STARTING, fenced=fenced), view(contender(), commit=commit()), NOW)
        assert action == ConfirmFencing()

    def test_take_over_without_an_unknown_term_is_refused(self):
        failure = Failure({"code": "E3104", "what": "x"}, 3)
        seen = view(contender(), commit=commit(), commands=command("retry", take_over="true"))
        [action] = decide(leading(State.FAILED, failure=failure), seen, NOW)
        assert isinstance(action, Complete) and action.kind == "refused"

    def test_take_over_of_an_unknown_term(self):
        failure = Failure({"code": "E3111", "what": "x"}, 3, epoch=4711)
        seen = view(contender(), commit=commit(), commands=command("retry", take_over="true"))
        retry, done = decide(leading(State.FAILED, failure=failure), seen, NOW)
        assert isinstance(retry, Retry) and retry.take_over
        assert isinstance(done, Complete)


class TestConfiguration:
    def test_a_new_one_drains(self):
        new = Config(4, {"name": "copy", "x": 1})
        seen = view(contender(), commit=commit(), config=new, config_version=4)
        assert decide(leading(State.RUNNING, RUNS), seen, NOW) == [DrainWorker("configure")]

    def test_the_same_under_a_new_version_is_adopted(self):
        new = Config(4, {"name": "copy"})
        seen = view(contender(), commit=commit(), config=new, config_version=4)
        assert decide(leading(State.RUNNING, RUNS), seen, NOW) == [AdoptConfig(new)]

    def test_new_labels_do_not_stop_the_worker(self):
        new = Config(4, {"name": "copy", "labels": {"env": "prod"}})
        seen = view(contender(), commit=commit(), config=new, config_version=4)
        assert decide(leading(State.RUNNING, RUNS), seen, NOW) == [AdoptConfig(new)]

    def test_a_bad_one_changes_nothing(self):
        seen = view(contender(), commit=commit(), config=None, config_version=4, config_error={"code": "E1002"})
        assert decide(leading(State.RUNNING, RUNS), seen, NOW) == []

    def test_after_a_fail_over_the_last_good_one_that_we_saw_runs(self):
        seen = view(contender(), commit=commit(), config=None, config_version=4, config_error={"code": "E1002"})
        assert decide(leading(State.IDLE), seen, NOW) == [StartWorker(CONFIG, SAVED)]

    def test_without_any_there_is_nothing_to_run(self):
        seen = view(contender(), commit=commit(), config=None)
        assert decide(leading(State.IDLE, good=None), seen, NOW) == [Unconfigure()]
        assert decide(leading(State.UNCONFIGURED, good=None), seen, NOW) == []
        assert decide(leading(State.UNCONFIGURED), seen, NOW) == [Retry("configured")]

    def test_a_failed_task_gets_a_new_chance_with_a_new_one(self):
        failed = leading(State.FAILED, failure=Failure({"code": "E2101"}, 3))
        assert decide(failed, view(contender(), commit=commit()), NOW) == []
        new = view(contender(), commit=commit(), config=Config(4, {}), config_version=4)
        assert decide(failed, new, NOW) == [Retry("configured")]


class TestOperators:
    def test_pause(self):
        seen = view(contender(), commit=commit(), desired="paused")
        assert decide(leading(State.RUNNING, RUNS), seen, NOW) == [DrainWorker("pause")]
        assert decide(leading(State.IDLE), seen, NOW) == [Pause()]
        assert decide(leading(State.PAUSED), seen, NOW) == []
        assert decide(leading(State.PAUSED), view(contender(), commit=commit()), NOW) == [Retry("resumed")]

    def test_a_status_that_can_not_be_read_starts_nothing_and_stops_nothing(self):
        """A newer version's may mean "paused"."""
        seen = view(contender(), commit=commit(), desired="unknown")
        assert decide(leading(State.RUNNING, RUNS), seen, NOW) == []
        newer = msgspec.structs.replace(seen, config=Config(4, {"name": "copy", "more": 1}))
        assert decide(leading(State.RUNNING, RUNS), newer, NOW) == []
        assert decide(leading(State.STARTING), seen, NOW) == [DrainWorker("pause")]
        assert decide(leading(State.IDLE), seen, NOW) == [Pause()]
        assert decide(leading(State.PAUSED), seen, NOW) == []
        assert decide(leading(State.PAUSED), view(contender(), commit=commit()), NOW) == [Retry("resumed")]

    def test_retry(self):
        seen = view(contender(), commit=commit(), commands=command("retry"))
        first, second = decide(leading(State.FAILED, failure=Failure({}, 3)), seen, NOW)
        assert first == Retry("retry", "me")
        assert isinstance(second, Complete)
        [refused] = decide(leading(State.RUNNING, RUNS), seen, NOW)
        assert isinstance(refused, Complete)
        assert refused.kind == "refused"

    def test_unknown_commands_are_taken_off_the_queue(self):
        for pending in (command("dance"), (Pending("/c/1", 1, None),)):
            [action] = decide(leading(State.RUNNING, RUNS), view(contender(), commands=pending), NOW)
            assert isinstance(action, Complete)
            assert action.kind == "refused"

    def switchover(self, known: Facts, *, czxid: int = 3000, **arguments: str) -> Any:
        pending = command("switchover", czxid, **arguments)
        others = contender(RIVAL, 8, 2), contender(THIRD, 9, 3)
        [action] = decide(known, view(contender(), *others, commit=commit(), commands=pending), NOW)
        return action

    def test_switchover_drains_then_releases(self):
        assert self.switchover(leading(State.RUNNING, RUNS)) == DrainWorker("switchover")
        draining = msgspec.structs.replace(RUNS, drain_reason="switchover", drain_until=NOW + 9)
        assert self.switchover(leading(State.DRAINING, draining)) == Hold(NOW + 9)
        released = self.switchover(leading(State.IDLE))
        assert released == Release("switchover", RIVAL, "rival", "/c/1", "me")

    @pytest.mark.parametrize("state", [State.PAUSED, State.FAILED, State.UNCONFIGURED, State.STARTING])
    def test_switchover_without_a_worker_is_at_once(self, state):
        assert isinstance(self.switchover(leading(state)), Release)

    def test_switchover_to_somebody(self):
        assert self.switchover(leading(State.IDLE), to=THIRD).successor == THIRD
        assert self.switchover(leading(State.IDLE), to="", host="third").successor == THIRD

    def test_switchover_that_can_not_be(self):
        assert self.switchover(leading(State.RUNNING, RUNS), to="d" * 32).kind == "refused"
        assert self.switchover(leading(State.RUNNING, RUNS), host="elsewhere").kind == "refused"
        alone = view(contender(), commit=commit(), commands=command("switchover"))
        [action] = decide(leading(State.RUNNING, RUNS), alone, NOW)
        assert isinstance(action, Complete)
        assert action.kind == "refused"

    def test_switchover_to_ourselves_is_done(self):
        action = self.switchover(leading(State.RUNNING, RUNS), host="own")
        assert (action.kind, action.reason) == ("switchover", "is already RUNNING")

    def test_a_switchover_that_a_fail_over_has_overtaken(self):
        assert self.switchover(leading(State.RUNNING, RUNS), czxid=1400).kind == "refused"
        assert self.switchover(leading(State.RUNNING, RUNS), czxid=1400, host="third") == DrainWorker("switchover")

    def test_no_switchover_before_the_term_is_opened(self):
        """A release would speak for the last term, whose lease may still run."""
        held = facts(State.WAITING, memory=Memory(missing_epoch=900, missing_since=NOW))
        seen = view(contender(), contender(RIVAL, 8, 2), commit=commit(900, session=2), commands=command("switchover"))
        assert isinstance(decide(held, seen, NOW)[0], Hold)

    def test_a_drain_that_takes_too_long_ends_in_a_kill(self):
        draining = msgspec.structs.replace(RUNS, drain_reason="configure", drain_until=NOW)
        [action] = decide(leading(State.DRAINING, draining), view(contender(), commit=commit()), NOW)
        assert isinstance(action, KillWorker)


class TestLeaving:
    @pytest.mark.parametrize("changes", [{"stopping": True}, {}])
    def test_drains_releases_and_stays_away(self, changes):
        desired = "running" if changes else "deleted"
        seen = view(contender(), commit=commit(), desired=desired)
        [action] = decide(leading(State.RUNNING, RUNS, **changes), seen, NOW)
        assert action == DrainWorker("stop" if changes else "delete")
        [action] = decide(leading(State.IDLE, **changes), seen, NOW)
        assert isinstance(action, Release)

    def test_a_standby_just_withdraws(self):
        seen = view(contender(RIVAL, 1, 2), contender(), desired="deleted")
        [action] = decide(facts(), seen, NOW)
        assert isinstance(action, Withdraw)

    def test_a_term_that_was_not_opened_is_not_released(self):
        """Saying "released" would spare the next one a wait that the last leader's lease still needs."""
        seen = view(contender(), commit=commit(900, session=2))
        [action] = decide(facts(State.WAITING, stopping=True), seen, NOW)
        assert isinstance(action, Withdraw)
        [action] = decide(leading(State.FAILED, stopping=True), seen, NOW)
        assert isinstance(action, Withdraw)

    def test_the_last_one_out_removes_a_deleted_task(self):
        assert decide(facts(State.ABSENT), view(desired="deleted"), NOW) == [RemoveTask()]
        assert decide(facts(State.ABSENT), view(contender(RIVAL, 1, 2), desired="deleted"), NOW) == []

    def test_a_stopping_process_does_not_stand(self):
        assert decide(facts(State.ABSENT, stopping=True), view(), NOW) == []
