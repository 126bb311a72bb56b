"""The guards of leadership: election, lease, fencing, tasks' records."""

from __future__ import annotations

from dev.mutants.guard import Guard

_MACHINE = "tests/unit/coordination/leadership/test_leadership_machine.py"
_DECISION = "tests/unit/coordination/leadership/test_decision.py"
_RECIPES = "tests/conformance/test_recipes.py"

LEADERSHIP: tuple[Guard, ...] = (
    Guard(
        "a lease is 2/3 of the session's timeout",
        "replicator/coordination/leadership/grace.py",
        "LEASE = 2 / 3\n",
        "LEASE = 2.0\n",
        (_MACHINE, "tests/unit/coordination"),
    ),
    Guard(
        "a lease counts from when its check was sent, and only from a node that is ours",
        "replicator/coordination/leadership/lease.py",
        "if stat is None or stat.czxid != self.epoch or stat.owner != self.session:",
        "if False:",
        ("tests/unit/core/test_lease_renewal.py", _MACHINE),
    ),
    Guard(
        "grace: the last term's lease must be over before a term is opened",
        "replicator/coordination/leadership/decision.py",
        "return [OpenTerm()] if now >= until else [Hold(until)]",
        "return [OpenTerm()]",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "leases count suspended time",
        "replicator/model/lease_clock.py",
        "_boottime if _BOOTTIME is not None else time.monotonic",
        "time.monotonic",
        ("tests/unit/model/test_lease_clock.py",),
    ),
    Guard(
        "fenced by nobody of the election: not for ever",
        "replicator/coordination/leadership/fencing.py",
        "return None if len(times) >= MOST else",
        "return",
        ("tests/unit/coordination/leadership/test_fencing.py",),
    ),
    Guard(
        "the epoch that sinks see only rises",
        "replicator/coordination/leadership/epochs.py",
        "return max(found, sink_epoch(czxid, above))",
        "return 0",
        ("tests/unit/coordination/leadership/test_fencing.py",),
    ),
    Guard(
        "epoch check: a term never opens under a lower epoch than lastCommit's",
        "replicator/coordination/leadership/decision.py",
        "    if record is not None and record.epoch > own.czxid:\n",
        "    if False:\n",
        (_DECISION,),
    ),
    Guard(
        "epoch check: progress is only written over one's own term",
        "replicator/coordination/leadership/progress.py",
        "if commit.record is not None and commit.record.epoch != self._epoch:",
        "if False:",
        (_RECIPES, _MACHINE),
    ),
    Guard(
        "version check: lastCommit is replaced only as it was read",
        "replicator/coordination/tasks/commits.py",
        "else Set(path, dump(record), before.version)\n        contender",
        "else Set(path, dump(record))\n        contender",
        (_RECIPES, _MACHINE),
    ),
    Guard(
        "own-znode check: nothing is written without our node standing",
        "replicator/coordination/tasks/commits.py",
        "results = self._coordinator.multi([Check(contender), change, *after])",
        "results = [None, *self._coordinator.multi([change, *after])]",
        (_RECIPES, _MACHINE),
    ),
    Guard(
        "the position never moves back",
        "replicator/coordination/tasks/commits.py",
        "        refuse_backward(task, before.checkpoint, record.checkpoint)\n",
        "",
        (_RECIPES, "tests/unit/coordination"),
    ),
    Guard(
        "drain before release",
        "replicator/coordination/leadership/decision.py",
        "    if worker.drain_reason != reason:\n        return [DrainWorker(reason)]\n",
        "    return [end_term(facts, view, reason)]\n",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "maintenance: nobody is promoted",
        "replicator/coordination/leadership/decision.py",
        "if view.maintenance and facts.state in (State.STANDBY, State.WAITING):",
        "if False:",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "a position is set only while nobody runs",
        "replicator/coordination/leadership/leading.py",
        "if facts.worker is not None or facts.state not in (State.PAUSED, State.FAILED, State.UNCONFIGURED):",
        "if False:",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "a ghost of a lost reply is swept",
        "replicator/coordination/leadership/decision.py",
        "    if ghosts:\n        return [Sweep(ghosts)]\n",
        "",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "a task that has had a position and has none is not begun now",
        "replicator/coordination/leadership/decision.py",
        "(facts.memory.checkpoint is not None or view.delivered)",
        "(facts.memory.checkpoint is not None)",
        (_DECISION,),
    ),
    Guard(
        "a session is given up when servers know less than we have seen, and only then",
        "replicator/zookeeper/entry.py",
        "        if self._barred > 2 * self._hosts:\n",
        "        if False:\n",
        ("tests/unit/zookeeper",),
    ),
    Guard(
        "no request to the coordinator is larger than a server takes",
        "replicator/coordination/in_memory/coordinator.py",
        "        check_request(ops)\n",
        "",
        ("tests/conformance/test_coordinator.py",),
    ),
    Guard(
        "a removal takes nothing from a task that was created again",
        "replicator/coordination/tasks/removal.py",
        "if stat is None or stat.czxid != node.stat.czxid:",
        "if False:",
        ("tests/unit/coordination/tasks/test_removal.py",),
    ),
    Guard(
        "a view is of one incarnation of a task",
        "replicator/coordination/leadership/view.py",
        "if not whole and self._czxid() != czxid:",
        "if False:",
        ("tests/unit/coordination/tasks/test_removal.py",),
    ),
    Guard(
        "nothing is started under a status that can't be read",
        "replicator/coordination/leadership/leading.py",
        "    if view.desired == UNKNOWN or is_halted(facts, view):\n        return [Pause()]",
        "    if is_halted(facts, view):\n        return [Pause()]",
        (_DECISION,),
    ),
    Guard(
        "a task of a cut-over runs until its goal",
        "replicator/coordination/leadership/leading.py",
        "view.stop_at is None or known is None or reached(known.position, view.stop_at)",
        "True",
        ("tests/unit/coordination/leadership/test_stop_at.py",),
    ),
    Guard(
        "a fault of a host is handed over to each process once",
        "replicator/coordination/leadership/host_faults.py",
        "process not in tried:",
        "True:",
        ("tests/unit/coordination/leadership/test_host_faults.py",),
    ),
    Guard(
        "what a host lacks is not forgotten because the source is reached",
        "replicator/coordination/leadership/participant.py",
        "lacking = stuck if stuck is not None and stuck.until_progress else None",
        "lacking = None",
        ("tests/unit/coordination/leadership/test_progress_lease.py",),
    ),
    Guard(
        "only the transaction of the present error is skipped",
        "replicator/coordination/tasks/skips.py",
        "    if asked and not _same(asked, transaction, mariadb):\n",
        "    if False:\n",
        (_DECISION, "tests/unit/coordination/tasks/test_skips.py"),
    ),
    Guard(
        "nothing runs while orders of tables can't be read",
        "replicator/coordination/leadership/view.py",
        "replace(view, config=None, config_error=view.config_error or",
        "replace(view, config_error=view.config_error or",
        ("tests/unit/coordination/tasks/test_orders.py",),
    ),
)
