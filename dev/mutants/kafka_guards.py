"""The guards of the Kafka client and the Kafka sinks."""

from __future__ import annotations

from dev.mutants.guard import Guard

_LANE = "tests/unit/kafka/test_lane.py"
_IDEMPOTENT = "tests/unit/kafka/test_machine_idempotent.py"
_TRANSACTIONAL = "tests/unit/kafka/test_machine_transactional.py"
_CONNECTION = "tests/unit/kafka/test_connection.py"
_ERRORS = "tests/unit/kafka/test_machine_errors.py"
_CLUSTER = "tests/unit/kafka/test_cluster.py"
_ADMIN = "tests/unit/kafka/test_admin_client.py"
_READER = "tests/unit/kafka/test_record_reader.py"

KAFKA: tuple[Guard, ...] = (
    Guard(
        "who is not of the task's history is not fenced out",
        "replicator/sink/kafka/exactly_once.py",
        "        self._read(topic, term)  # who is not of this task's history is not fenced out\n",
        "",
        ("tests/integration/sink/test_kafka_installations.py",),
    ),
    Guard(
        "connections to Kafka end with a reset",
        "replicator/kafka/transport.py",
        "        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)\n",
        "",
        (_CONNECTION,),
    ),
    Guard(
        "a partition's first batch goes alone: a broker takes any number from a producer that it does not know",
        "replicator/kafka/lane.py",
        "len(self.away) < LIMIT and now < self._known_until",
        "len(self.away) < LIMIT",
        (_LANE,),
    ),
    Guard(
        "a batch that is sent again goes alone",
        "replicator/kafka/lane.py",
        "        self._alone = True\n",
        "",
        (_LANE,),
    ),
    Guard(
        "batches that are sent again leave in their first order",
        "replicator/kafka/lane.py",
        "        insort(self.waiting, batch, key=_number)\n",
        "        self.waiting.insert(0, batch)\n",
        (_LANE,),
    ),
    Guard(
        "a batch that is sent again keeps its sequence number",
        "replicator/kafka/lane.py",
        "        if batch.sequence < 0:\n",
        "        if True:\n",
        (_LANE, _IDEMPOTENT),
    ),
    Guard(
        "no batch leaves the producer without the guard's consent",
        "replicator/kafka/machine.py",
        "        if self.error is not None or (self.outstanding and not self._allowed()):\n",
        "        if self.error is not None:\n",
        (_IDEMPOTENT,),
    ),
    Guard(
        "no commit leaves the producer without the guard's consent",
        "replicator/kafka/machine.py",
        "        return self._allowed()\n\n    def _allowed",
        "        return True\n\n    def _allowed",
        (_TRANSACTIONAL,),
    ),
    Guard(
        "the first batch that fails for good ends the producer",
        "replicator/kafka/machine.py",
        '        self.fail(cause, KafkaError("another batch has failed"))\n',
        "",
        (_IDEMPOTENT,),
    ),
    Guard(
        "no transaction begins over another connection than the last one ended over",
        "replicator/kafka/transaction.py",
        "        if peer is None or peer.generation != self._over:\n",
        "        if peer is None:\n",
        (_TRANSACTIONAL,),
    ),
    Guard(
        "a commit waits until everything in its transaction is written",
        "replicator/kafka/transaction.py",
        "        if self.state is State.ENDING and settled:\n",
        "        if self.state is State.ENDING:\n",
        (f"{_TRANSACTIONAL}::test_no_end_leaves_before_everything_in_the_transaction_is_written",),
    ),
    Guard(
        "what follows a failed batch that may be repeated is repeated, anything else out of order is a gap",
        "replicator/kafka/machine.py",
        "            return self._lanes[batch.place].follows(batch)\n",
        "            return True\n",
        (_IDEMPOTENT,),
    ),
    Guard(
        "sequence numbers begin again with each epoch",
        "replicator/kafka/machine.py",
        "            lane.new_epoch()\n",
        "            pass\n",
        (_TRANSACTIONAL,),
    ),
    Guard(
        "the epoch that the end of a transaction gives is the next one's",
        "replicator/kafka/transaction.py",
        "                    self.producer_id, self.epoch = found.producer_id, found.epoch\n"
        "                    self._renewed()\n",
        "                    pass\n",
        (_TRANSACTIONAL,),
    ),
    Guard(
        "an abort drops what has not left",
        "replicator/kafka/machine.py",
        "            self._drop_waiting()\n        self.transactions",
        "            pass\n        self.transactions",
        (_TRANSACTIONAL,),
    ),
    Guard(
        "a commit whose answer is lost is asked again",
        "replicator/kafka/transaction.py",
        "    def _lost(self, now: float) -> None:\n        self._asking = False\n",
        "    def _lost(self, now: float) -> None:\n        self._asking = False\n        self.state = State.READY\n",
        (_TRANSACTIONAL,),
    ),
    Guard(
        "a commit without an answer is none",
        "replicator/sink/kafka/batch_producer.py",
        '            raise translate(error, "the outcome of a commit is unknown") from error\n',
        "            return\n",
        ("tests/unit/sink/test_batch_producer.py",),
    ),
    Guard(
        "no batch goes to a new leader beside those at the old one",
        "replicator/kafka/lane.py",
        "not self._alone and node == self.node and",
        "not self._alone and",
        (_LANE,),
    ),
    Guard(
        "a broker that is behind is not believed who leads a partition",
        "replicator/kafka/cluster.py",
        "            if same and partition.leader_epoch < epoch:\n",
        "            if False:\n",
        (_CLUSTER,),
    ),
    Guard(
        "no transaction follows one that may be left without an end",
        "replicator/sink/kafka/batch_producer.py",
        "            hanging.refuse()\n",
        "            pass\n",
        ("tests/integration/sink/test_kafka_hanging.py::test_none_follows_one_without_an_end",),
    ),
    Guard(
        "replies that came before a failed write count",
        "replicator/kafka/connection.py",
        "        if readable or transport.broken is not None or",
        "        if readable or",
        (_CONNECTION,),
    ),
    Guard(
        "a transaction that follows at once asks the coordinator itself",
        "replicator/kafka/transaction.py",
        "            self._asks = now < self._ended_at + _MARKERS_SECONDS\n",
        "            self._asks = False\n",
        (_TRANSACTIONAL,),
    ),
    Guard(
        "Kafka errors: the leader is looked up where another broker may lead",
        "replicator/kafka/machine.py",
        "        if code in errors.STALE_METADATA:\n            self.cluster.stale(now)\n        wait",
        "        wait",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: batches are sent again after errors that pass",
        "replicator/kafka/machine.py",
        "        return code in errors.RETRY_BATCH\n",
        "        return False\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: batches are sent again after those errors alone",
        "replicator/kafka/machine.py",
        "        return code in errors.RETRY_BATCH\n",
        "        return True\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: a duplicate sequence number is success",
        "replicator/kafka/machine.py",
        "(errors.NONE, errors.DUPLICATE_SEQUENCE)",
        "(errors.NONE,)",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: a batch without an answer is not written",
        "replicator/kafka/machine.py",
        "            if written is None:\n"
        "                self._again(batch, errors.NETWORK_EXCEPTION, now)\n"
        "            elif written.error in",
        "            if written is None or written.error in",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: a lost Produce request is sent again",
        "replicator/kafka/machine.py",
        "            for batch in batches:\n                self._again(batch, errors.NETWORK_EXCEPTION, now)\n",
        "            for batch in batches:\n                self._written(batch, now)\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: nothing is sent to a broker that throttles us",
        "replicator/kafka/machine.py",
        "        if milliseconds > 0:\n",
        "        if False:\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: a topic that Metadata refuses ends the producer",
        "replicator/kafka/machine.py",
        "        if code and code not in errors.STALE_METADATA:\n",
        "        if False:\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: a batch waits no longer than the delivery time-out",
        "replicator/kafka/machine.py",
        "            if age > self._settings.delivery_seconds:\n",
        "            if False:\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: another coordinator is looked up where it may have moved",
        "replicator/kafka/transaction.py",
        "            self.coordinator = _NOBODY\n            self._retry_at = now + _RETRY_SECONDS\n        elif",
        "            self._retry_at = now + _RETRY_SECONDS\n        elif",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: a coordinator is asked again after errors that pass",
        "replicator/kafka/transaction.py",
        "        elif code in errors.RETRY_COORDINATOR:\n",
        "        elif False:\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: a coordinator that refuses ends the producer",
        "replicator/kafka/transaction.py",
        "            self._fail(errors.cause(code))\n        return False\n",
        "            self._retry_at = now + _RETRY_SECONDS\n        return False\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: a coordinator that is not elected yet is looked up again",
        "replicator/kafka/transaction.py",
        "            elif found.error in errors.FIND_COORDINATOR | errors.RETRY_COORDINATOR:\n",
        "            elif False:\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: what was not attempted is not what another partition was refused for",
        "replicator/kafka/transaction.py",
        "if code not in (errors.NONE, errors.OPERATION_NOT_ATTEMPTED)), 0)",
        "if code != errors.NONE), 0)",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: only partitions that were answered are in a transaction",
        "replicator/kafka/transaction.py",
        "            if any(place not in found for place in places):\n"
        '                raise wire.MalformedMessage("the reply lacks a partition")\n'
        "            codes = [found[place] for place in places]\n",
        "            codes = [found.get(place, 0) for place in places]\n",
        (_ERRORS,),
    ),
    Guard(
        "Kafka errors: an answer without topics does not make the client ask at once",
        "replicator/kafka/cluster.py",
        "        if missing and not found.error:\n",
        "        if missing:\n",
        (_CLUSTER,),
    ),
    Guard(
        "Kafka errors: a broker that has just started has no brokers to tell of",
        "replicator/kafka/cluster.py",
        "        if found.brokers:\n",
        "        if True:\n",
        (_CLUSTER,),
    ),
    Guard(
        "Kafka admin: a topic that a starting broker does not know may exist",
        "replicator/kafka/admin_client.py",
        "        if not self._informed(connection, found):\n",
        "        if False:\n",
        (_ADMIN,),
    ),
    Guard(
        "Kafka client: the guard is asked before bytes of an earlier request leave",
        "replicator/kafka/producer.py",
        "        machine.check()  # first of all: a process that was stopped may wake after its lease\n",
        "",
        ("tests/unit/kafka/test_producer_guard.py",),
    ),
    Guard(
        "Kafka client: connections end with the producer's error",
        "replicator/kafka/producer.py",
        "        if machine.error is not None:\n            links.close(now)\n            return\n        for",
        "        for",
        ("tests/unit/kafka/test_producer_guard.py",),
    ),
    Guard(
        "Kafka client: aborted records are not read",
        "replicator/kafka/record_reader.py",
        "        elif not (aborted is not None and batch.transactional and batch.producer in ended):\n",
        "        else:\n",
        (_READER,),
    ),
    Guard(
        "Kafka client: a batch with a wrong checksum is not read",
        "replicator/kafka/record_reader.py",
        " or crc32c(data[at + _CRC_FROM : end]) != crc:",
        ":",
        (_READER,),
    ),
    Guard(
        "Kafka sink: a transaction that was open for too long is not fenced",
        "replicator/sink/kafka/exactly_once.py",
        "        if open_for * 1000 < self._config.transaction_timeout_ms * 0.9:\n",
        "        if True:\n",
        ("tests/integration/sink/test_kafka_faults.py::test_a_transaction_that_stays_open_too_long",),
    ),
)
