"""The guards of the leadership and delivery contracts, and what each is without: text that is replaced in one file, and
the tests that have to turn red. A unit test keeps the texts current.
"""

from __future__ import annotations

from typing import NamedTuple


class Guard(NamedTuple):
    """`old` stands exactly once in `file`; `tests`: arguments of pytest."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


_MACHINE = "tests/unit/coordination/test_leadership_machine.py"
_DECISION = "tests/unit/coordination/test_decision.py"
_RECIPES = "tests/conformance/test_recipes.py"
_PIPELINE = "tests/unit/test_pipeline.py"
_AUTHORITY = "tests/unit/test_authority.py"

GUARDS: tuple[Guard, ...] = (
    Guard(
        "lease check before each batch",
        "replicator/pipeline.py",
        "            self._term.check()\n            dead =",
        "            dead =",
        (_PIPELINE,),
    ),
    Guard(
        "lease check before each commit",
        "replicator/pipeline.py",
        "    def _commit(self, position: Position) -> None:\n        self._term.check()\n",
        "    def _commit(self, position: Position) -> None:\n",
        (_PIPELINE,),
    ),
    Guard(
        "a lease is 2/3 of the session's timeout",
        "replicator/coordination/grace.py",
        "LEASE = 2 / 3\n",
        "LEASE = 2.0\n",
        (_MACHINE, "tests/unit/coordination"),
    ),
    Guard(
        "a lease counts from when its check was sent, and only from a node that is ours",
        "replicator/coordination/lease.py",
        "if stat is None or stat.czxid != self.epoch or stat.owner != self.session:",
        "if False:",
        ("tests/unit/core/test_leases.py", _MACHINE),
    ),
    Guard(
        "grace: the last term's lease must be over before a term is opened",
        "replicator/coordination/decision.py",
        "return [OpenTerm()] if now >= until else [Hold(until)]",
        "return [OpenTerm()]",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "epoch check: a term never opens under a lower epoch than lastCommit's",
        "replicator/coordination/decision.py",
        "    if record is not None and record.epoch > own.czxid:\n",
        "    if False:\n",
        (_DECISION,),
    ),
    Guard(
        "epoch check: progress is only written over one's own term",
        "replicator/coordination/progress.py",
        "if commit.record is not None and commit.record.epoch != self._epoch:",
        "if False:",
        (_RECIPES, _MACHINE),
    ),
    Guard(
        "version check: lastCommit is replaced only as it was read",
        "replicator/coordination/commits.py",
        "else Set(path, dump(record), before.version)\n        contender",
        "else Set(path, dump(record))\n        contender",
        (_RECIPES, _MACHINE),
    ),
    Guard(
        "own-znode check: nothing is written without our node standing",
        "replicator/coordination/commits.py",
        "results = self._coordinator.multi([Check(contender), change, *after])",
        "results = [None, *self._coordinator.multi([change, *after])]",
        (_RECIPES, _MACHINE),
    ),
    Guard(
        "the position never moves back",
        "replicator/coordination/commits.py",
        "        refuse_backward(task, before.checkpoint, record.checkpoint)\n",
        "",
        (_RECIPES, "tests/unit/coordination"),
    ),
    Guard(
        "drain before release",
        "replicator/coordination/decision.py",
        "    if worker.drain_reason != reason:\n        return [DrainWorker(reason)]\n",
        "    return [end_term(facts, view, reason)]\n",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "maintenance: nobody is promoted",
        "replicator/coordination/decision.py",
        "if view.maintenance and facts.state in (State.STANDBY, State.WAITING):",
        "if False:",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "a position is set only while nobody runs",
        "replicator/coordination/leading.py",
        "if facts.worker is not None or facts.state not in (State.PAUSED, State.FAILED, State.UNCONFIGURED):",
        "if False:",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "a ghost of a lost reply is swept",
        "replicator/coordination/decision.py",
        "    if ghosts:\n        return [Sweep(ghosts)]\n",
        "",
        (_DECISION, _MACHINE),
    ),
    Guard(
        "skip count: rows that an earlier stream delivered are not sent again",
        "replicator/decode/collector.py",
        "        if self._skip is not None:\n            self._drop_delivered(self._skip, first)\n",
        "",
        ("tests/unit/decode",),
    ),
    Guard(
        "skip count: a half-delivered transaction that is shorter now stops",
        "replicator/decode/resume.py",
        "        if have < delivered:\n",
        "        if False:\n",
        ("tests/unit/decode",),
    ),
    Guard(
        "skip count: rows that another configuration counted are found by their events",
        "replicator/decode/resume.py",
        'if self._rule == (inside.rule if inside is not None else ""):',
        "if True:",
        ("tests/unit/decode/test_resume.py",),
    ),
    Guard(
        "skip count: events of another log say nothing of this one",
        "replicator/decode/resume.py",
        "if inside is not None and (file, start) == (self._position.file, self._position.offset):",
        "if inside is not None:",
        ("tests/unit/decode/test_resume.py",),
    ),
    Guard(
        "row events of tables that are not replicated count, compiled and not",
        "replicator/decode/rowevents.py",
        "            self._branch.count += 1\n",
        "            pass\n",
        ("tests/unit/decode/test_resume.py",),
    ),
    Guard(
        "nothing is held between a message and the rows that it stands before",
        "replicator/decode/collector.py",
        '        self._count(row + 1, len(message.key or b"") + len(message.value or b""))\n',
        '        self.took(row + 1, len(message.key or b"") + len(message.value or b""))\n',
        ("tests/unit/decode/test_resume.py",),
    ),
    Guard(
        "unknown-event check: what may carry rows is never skipped",
        "replicator/decode/decoder.py",
        "        if not flags & events.FLAG_IGNORABLE:\n            raise refusals.unreadable(kind)\n",
        "",
        ("tests/unit/decode",),
    ),
    Guard(
        "an INCIDENT stops",
        "replicator/decode/changes.py",
        '        raise refusals.incident(b[p + 3 : end].decode("utf-8", "replace"))\n',
        "        return\n",
        ("tests/unit/decode",),
    ),
    Guard(
        "only a contiguous acknowledged prefix counts",
        "replicator/sink/prefix.py",
        "        while self._low in self._done:\n",
        "        while self._done and (self._done.add(self._low) or True):\n",
        ("tests/unit/sink",),
    ),
    Guard(
        "a partition's first batch goes alone: a broker takes any number from a producer that it does not know",
        "replicator/sink/kafka/in_flight.py",
        "        if away and (away >= LIMIT or place not in self._known):\n",
        "        if away >= LIMIT:\n",
        ("tests/unit/sink/test_in_flight.py",),
    ),
    Guard(
        "batches that are sent again leave in their first order",
        "replicator/sink/kafka/bulk.py",
        "            waiting.insert(next(behind, len(waiting)), batch)\n",
        "            waiting.appendleft(batch)\n",
        ("tests/unit/sink/test_in_flight.py",),
    ),
    Guard(
        "a position that an operator set goes before the sink's",
        "replicator/authority.py",
        "    if held.reset != position.reset:\n",
        "    if False:\n",
        (_AUTHORITY,),
    ),
    Guard(
        "what was delivered without the sink's position counts, not that position",
        "replicator/authority.py",
        "    if known.in_sink is False:\n        return position\n",
        "",
        (_AUTHORITY,),
    ),
    Guard(
        "a sink that is behind its copy has been put back",
        "replicator/authority.py",
        'relation == "behind" and known.in_sink is None:',
        'relation == "behind":',
        (_AUTHORITY,),
    ),
    Guard(
        "who holds the position is durable before the first row",
        "replicator/pipeline.py",
        "        if known.in_sink is holds and known.position == position:\n",
        "        if known.position == position:\n",
        (_PIPELINE,),
    ),
    Guard(
        "a task that has had a position and has none is not begun now",
        "replicator/coordination/decision.py",
        "(facts.memory.checkpoint is not None or view.delivered)",
        "(facts.memory.checkpoint is not None)",
        (_DECISION,),
    ),
    Guard(
        "the starting point is durable before the first row",
        "replicator/pipeline.py",
        "            self._sink.flush(_FLUSH_SECONDS)\n        epoch, now",
        "            self._sink.flush(_FLUSH_SECONDS)\n        return known\n        epoch, now",
        (_PIPELINE,),
    ),
    Guard(
        "whole transactions are committed before the beginning of one that is not known to be short",
        "replicator/pipeline.py",
        "if ready is not None and not batch.boundary and not self._split:",
        "if False:",
        (_PIPELINE,),
    ),
    Guard(
        "a server that looks for where we begin moves no position back",
        "replicator/decode/progress.py",
        "if self._text is self._begun.gtid and Position(self.file, self.offset).order < self._begun.order:",
        "if False:",
        ("tests/unit/decode/test_decoder.py",),
    ),
    Guard(
        "a position is of one server's binlog: another server",
        "replicator/source/mysql/origin.py",
        "    if (known.server and known.server != server) or known.created == 0:\n",
        "    if False:\n",
        ("tests/unit/source/test_origin.py",),
    ),
    Guard(
        "a position is of one server's binlog: another file of that name",
        "replicator/source/mysql/origin.py",
        "    if known.created and known.created != now.created:\n",
        "    if False:\n",
        ("tests/unit/source/test_origin.py",),
    ),
    Guard(
        "a position is of one server's binlog: another event before it",
        "replicator/source/mysql/origin.py",
        "    if known.ended is not None and known.ended != now.ended:\n",
        "    if False:\n",
        ("tests/unit/source/test_origin.py",),
    ),
    Guard(
        "whose binlog a position is of is durable before anything is delivered",
        "replicator/pipeline.py",
        "                self._remember_server(stream.position.server)\n",
        "                pass\n",
        (_PIPELINE,),
    ),
    Guard(
        "a session is given up when servers know less than we have seen, and only then",
        "replicator/zookeeper/connection.py",
        "            if self._barred <= 2 * hosts:\n",
        "            if True:\n",
        ("tests/unit/zookeeper",),
    ),
    Guard(
        "of several servers only one that has all we delivered",
        "replicator/source/mysql/hosts.py",
        '    if server.get("read_only") == "ON":\n',
        "    if False:\n",
        ("tests/unit/source/test_hosts.py",),
    ),
    Guard(
        "a later definition names no row before a statement that touches its table",
        "replicator/schema/early.py",
        "        return self._statements(self._look).of(key, later.position)\n",
        "        return None\n",
        ("tests/unit/schema/test_catalog.py",),
    ),
    Guard(
        "definitions are read again when a statement falls into the reading",
        "replicator/schema/history.py",
        "            if not any(disturbed",
        "            if True or not any(disturbed",
        ("tests/unit/schema/test_catalog.py",),
    ),
    Guard(
        "a session that makes the schema history long ends",
        "replicator/schema/history.py",
        "        return self._appended >= COMPACT\n",
        "        return False\n",
        ("tests/unit/schema/test_catalog.py",),
    ),
    Guard(
        "no request to the coordinator is larger than a server takes",
        "replicator/coordination/memory.py",
        "        check_request(ops)\n",
        "",
        ("tests/conformance/test_coordinator.py",),
    ),
    Guard(
        "definitions of a database that was not followed are read again",
        "replicator/schema/history.py",
        "        if scope == self._scope or",
        "        if True or scope == self._scope or",
        ("tests/unit/schema/test_catalog.py",),
    ),
    Guard(
        "an output file is proved to be the task's own before anything of it is cut off",
        "replicator/sink/file.py",
        "        self._digest = fileproof.prove(file, mark, term, self._shown)\n",
        "        self._digest = new_digest()\n",
        ("tests/unit/sink/test_file_foreign.py",),
    ),
    Guard(
        "a secret is one that the host's operator has set aside for tasks",
        "replicator/host/access.py",
        "    return name not in _NEVER and any(",
        "    return True or any(",
        ("tests/unit/config/test_secrets.py",),
    ),
    Guard(
        "a removal takes nothing from a task that was created again",
        "replicator/coordination/removal.py",
        "if stat is None or stat.czxid != node.stat.czxid:",
        "if False:",
        ("tests/unit/coordination/test_removal.py",),
    ),
    Guard(
        "a view is of one incarnation of a task",
        "replicator/coordination/view.py",
        "if not whole and self._czxid() != czxid:",
        "if False:",
        ("tests/unit/coordination/test_removal.py",),
    ),
    Guard(
        "nothing is started under a status that can't be read",
        "replicator/coordination/leading.py",
        'if view.desired in ("paused", UNKNOWN):',
        'if view.desired == "paused":',
        (_DECISION,),
    ),
    Guard(
        "a fault of a host is handed over to each process once",
        "replicator/coordination/host_faults.py",
        "process not in tried:",
        "True:",
        ("tests/unit/coordination/test_host_faults.py",),
    ),
    Guard(
        "only the transaction of the present error is skipped",
        "replicator/coordination/skips.py",
        "    if asked and not _same(asked, transaction, mariadb):\n",
        "    if False:\n",
        (_DECISION, "tests/unit/coordination/test_skips.py"),
    ),
    Guard(
        "a table in quarantine flows again by an order alone",
        "replicator/model/quarantine.py",
        "        return mark.table in self.tables or mark.time_ms > self.mended.get(mark.table, 0)\n",
        "        return mark.table in self.tables\n",
        ("tests/unit/model/test_quarantine.py", "tests/unit/test_left_out.py"),
    ),
    Guard(
        "nothing runs while orders of tables can't be read",
        "replicator/coordination/view.py",
        "replace(view, config=None, config_error=view.config_error or",
        "replace(view, config_error=view.config_error or",
        ("tests/unit/coordination/test_quarantines.py",),
    ),
    Guard(
        "a position is of one sink",
        "replicator/cli/run_state.py",
        "    if path is None and not where.exists() and not chosen:\n",
        "    if False:\n",
        ("tests/unit/cli/test_run_state.py",),
    ),
)
