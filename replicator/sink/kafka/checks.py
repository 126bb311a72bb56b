"""`replicator check` for the Kafka sink: asks, never changes anything that a consumer or a running task could see."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaTimeoutError

from replicator.config.task import KafkaSink
from replicator.errors import ReplicatorError, SinkError
from replicator.kafka.batch import Batch
from replicator.kafka.producer import Producer
from replicator.model.finding import Finding, Severity, listed
from replicator.net import encryption_checks
from replicator.sink.kafka.admin import connect_library_admin
from replicator.sink.kafka.batch_producer import batch_of
from replicator.sink.kafka.connect import connect_producer
from replicator.sink.kafka.connection_probe import certificate_days
from replicator.sink.kafka.consumers import check_consumers, late_consumers
from replicator.sink.kafka.errors import translating
from replicator.sink.kafka.names import position_topic, transactional_id
from replicator.sink.kafka.records import BATCH_OVERHEAD, encode_plain

_OLDEST = (2, 8)  # the oldest whose messages our producer speaks
_SECONDS = 10.0
_DAY_MS = 86_400_000
_SLACK = 1024  # our default limit and Kafka's differ by less: nothing to worry a person with


def check(config: KafkaSink, task: str, topics: list[str]) -> list[Finding]:
    """Findings about the brokers and every topic that the task will write to.

    Args:
        topics: of the tables that the source would send; [] when they are not known.
    """
    try:
        admin = connect_library_admin(config)
    except ReplicatorError as error:
        return [Finding.of_error("sink.reachable", error)]
    try:
        return _Check(config, task, admin).run(topics)
    except ReplicatorError as error:
        return [Finding.of_error("sink.reachable", error)]
    finally:
        admin.close()


def late(config: KafkaSink, task: str, topics: list[str]) -> dict[str, str]:
    """See `late_consumers`: of those of these topics that exist. Raises SinkUnavailable, SinkError."""
    admin = connect_library_admin(config)
    try:
        with translating("the brokers could not be asked"):
            asked = _Check(config, task, admin)
            there = asked.describe(topics)
            settings = asked.settings(list(there)) if there else {}
            return late_consumers(admin, {name: _kept(settings.get(name, {})) for name in there}) if there else {}
    finally:
        admin.close()


class _Check:
    def __init__(self, config: KafkaSink, task: str, admin: KafkaAdminClient) -> None:
        self._config = config
        self._task = task
        self._admin = admin
        self._exactly_once = config.delivery == "exactly_once"
        self._brokers: list[dict[str, Any]] = []

    def run(self, names: list[str]) -> list[Finding]:
        with translating("the brokers could not be asked"):
            self._brokers = self._admin.describe_cluster()["brokers"]
            findings = [self._reachable(), *self._encryption(), self._version()]
            there = self.describe([*names, position_topic(self._task)])
            position = there.pop(position_topic(self._task), None)
            findings += self._topics(names, there)
            if there:
                settings = self.settings(list(there))
                findings += _settings(self._config, there, settings)
                findings += check_consumers(self._admin, {name: _kept(settings.get(name, {})) for name in there})
            if self._exactly_once:
                findings += [self._position(position), self._timeout()]
                if findings[-1].severity == "ok":
                    findings.append(self._transaction(position is not None))
        return findings

    def _reachable(self) -> Finding:
        count = len(self._brokers)
        where = ", ".join(f"{broker['host']}:{broker['port']}" for broker in self._brokers[:3])
        return Finding.ok("sink.reachable", f"{count} broker{'' if count == 1 else 's'}: {where}")

    def _encryption(self) -> list[Finding]:
        found = [encryption_checks.encrypted("sink", self._config.tls, self._config.bootstrap_servers)]
        for where, days in certificate_days(self._config).items():
            found += encryption_checks.server_certificate("sink", where, days, "Give the broker a new one.")
        return found + encryption_checks.ending_files("sink", self._config.tls)

    def _version(self) -> Finding:
        version = self._admin.get_broker_version_data(self._brokers[0]["broker_id"]).broker_version
        found = "Kafka " + ".".join(map(str, version))
        if version < _OLDEST:
            wanted = "Kafka " + ".".join(map(str, _OLDEST)) + " or later"
            return Finding("sink.version", "fail", found, wanted, "Upgrade the brokers.")
        return Finding.ok("sink.version", found)

    def describe(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """Of the topics that exist."""
        answers = self._admin.describe_topics(names)
        return {answer["name"]: answer for answer in answers if not answer["error_code"]}

    def settings(self, names: list[str]) -> dict[str, dict[str, str]]:
        """{topic: {setting: value}}; a topic whose settings may not be read has none."""
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        answer = self._admin.describe_configs(resources, config_filter="all").get("topic", {})
        return {
            name: {key: entry["value"] for key, entry in settings.items() if entry["value"] is not None}
            for name, settings in answer.items()
        }

    def _topics(self, names: list[str], there: dict[str, dict[str, Any]]) -> list[Finding]:
        missing = [name for name in names if name not in there]
        findings = []
        if there:
            spread = ", ".join(f"{name} ({len(there[name]['partitions'])})" for name in list(there)[:5])
            findings.append(Finding.ok("sink.topics", f"topics and their partitions: {spread}"))
            findings += self._rights(there)
        if missing and self._config.create_topics:
            findings.append(self._creatable("sink.create_topics", missing[0], len(missing), self._config.partitions))
        elif missing:
            found = f"missing: {listed(missing)}"
            fix = "Create them, or set `sink.create_topics: true`."
            findings.append(Finding("sink.topics", "fail", found, "every topic exists", fix))
        return findings

    def _rights(self, there: dict[str, dict[str, Any]]) -> list[Finding]:
        refused = [
            name for name, topic in there.items() if "WRITE" not in (topic["authorized_operations"] or ["WRITE"])
        ]
        if not refused:
            return []
        fix = f"Allow Write and Describe on {listed(refused)}."
        return [Finding("sink.rights", "fail", f"no Write on {listed(refused)}", "Write, Describe", fix)]

    def _creatable(self, id_: str, name: str, count: int, partitions: int) -> Finding:
        wanted = {name: {"num_partitions": partitions, "replication_factor": self._config.replication_factor}}
        try:
            with translating(f"the topic '{name}' could not be created"):
                answer = self._admin.create_topics(wanted, validate_only=True)["topics"][0]
        except ReplicatorError as error:
            shape = f"{partitions} partitions and {self._config.replication_factor} replicas (-1: default)"
            return Finding(id_, "fail", f"{error.code} {error.what}: {error.found}", shape, error.fix)
        replicas = answer.get("replication_factor", self._config.replication_factor)
        what = f"{count} topics are" if count > 1 else f"'{name}' is"
        return _replicas(id_, f"{what} created when the first row comes: {partitions} partitions", replicas)

    def _position(self, topic: dict[str, Any] | None) -> Finding:
        name = position_topic(self._task)
        if topic is None:
            if self._config.create_topics:
                return self._creatable("sink.position_topic", name, 1, 1)
            error = SinkError(
                "E3101", f"the topic '{name}' does not exist", wanted="1 partition, cleanup.policy=compact"
            )
            return Finding.of_error("sink.position_topic", error)
        policy = self.settings([name]).get(name, {}).get("cleanup.policy", "compact")
        if policy != "compact":
            fix = f"kafka-configs.sh --alter --topic {name} --add-config cleanup.policy=compact"
            found = f"cleanup.policy={policy}: the position would be deleted with time"
            return Finding("sink.position_topic", "fail", found, "cleanup.policy=compact", fix)
        return _replicas("sink.position_topic", f"'{name}' exists", len(topic["partitions"][0]["replica_nodes"]))

    def _timeout(self) -> Finding:
        resource = ConfigResource(ConfigResourceType.BROKER, str(self._brokers[0]["broker_id"]))
        settings = self._admin.describe_configs([resource], config_filter="all").get("broker", {})
        entry = settings.get(resource.name, {}).get("transaction.max.timeout.ms", {})
        most, ours = entry.get("value"), self._config.transaction_timeout_ms
        if most is not None and int(most) < ours:
            fix = f"Set `sink.transaction_timeout_ms: {most}` or less, or raise transaction.max.timeout.ms."
            return Finding("sink.transaction_timeout", "fail", f"{ours} ms", f"at most {most} ms", fix)
        return Finding.ok("sink.transaction_timeout", f"{ours} ms, the broker allows {most or 'an unknown time'}")

    def _transaction(self, position_exists: bool) -> Finding:
        """Under an id of its own, so that a running task is not fenced out; aborted, so that nobody sees it."""
        own_id = f"{transactional_id(self._task)}.check.{uuid.uuid4().hex[:8]}"
        try:
            _try_transaction(self._config, own_id, position_topic(self._task) if position_exists else None)
        except ReplicatorError as error:
            return Finding.of_error("sink.transaction", error)
        return Finding.ok("sink.transaction", "a test transaction was begun and aborted")


def _try_transaction(config: KafkaSink, own_id: str, topic: str | None) -> None:
    producer = connect_producer(config, own_id, lambda: None)
    try:
        with translating("a test transaction failed"):
            producer.identify(_SECONDS)
            producer.begin()
            if topic is not None:
                _send(producer, topic)
            producer.end(_SECONDS, commit=False)
    finally:
        producer.close(2.0)


def _send(producer: Producer, topic: str) -> None:
    """Raises KafkaError."""
    outcome: list[BaseException | None] = []
    data = batch_of(encode_plain(b"check", b""))
    producer.append(Batch((topic, 0), data, 1, time.time_ns() // 1_000_000, outcome.append))
    producer.push()
    producer.wait(lambda: bool(outcome), time.monotonic() + _SECONDS)
    if not outcome:
        raise KafkaTimeoutError(f"no answer within {_SECONDS:.0f} s")
    if outcome[0] is not None:
        raise outcome[0]


def _settings(
    config: KafkaSink, there: dict[str, dict[str, Any]], settings: dict[str, dict[str, str]]
) -> list[Finding]:
    """Findings about existing topics, each naming the topics that it is about."""

    def about(id_: str, good: str, severity: Severity, bad: Callable[[str], str], wanted: str, fix: str) -> Finding:
        wrong = {name: text for name in there if (text := bad(name))}
        if not wrong:
            return Finding.ok(id_, good)
        found = listed([f"{name}: {text}" for name, text in wrong.items()])
        return Finding(id_, severity, found, wanted, fix)

    def value(name: str, key: str) -> str:
        return settings.get(name, {}).get(key, "")

    def replicas(name: str) -> int:
        return min(len(partition["replica_nodes"]) for partition in there[name]["partitions"])

    def insync(name: str) -> int:
        return int(value(name, "min.insync.replicas") or 1)

    def small(name: str) -> str:
        most = value(name, "max.message.bytes")
        fits = not most or int(most) - BATCH_OVERHEAD + _SLACK >= config.max_record_bytes
        return "" if fits else f"{most} bytes"

    def short(name: str) -> str:
        kept = int(value(name, "retention.ms") or -1)
        return f"{kept} ms" if 0 <= kept < _DAY_MS and "delete" in value(name, "cleanup.policy") else ""

    larger = "a larger record stops the task" if config.oversize == "fail" else "a larger record is a dead letter"
    alter = "kafka-configs.sh --alter --topic TOPIC --add-config "
    return [
        about(
            "sink.replication",
            "every topic has replicas",
            "warn",
            lambda name: "" if replicas(name) > 1 else "1 replica",
            "3 replicas: the loss of one broker's disk loses no record",
            "kafka-reassign-partitions.sh, or create the topics with `sink.replication_factor: 3`.",
        ),
        about(
            "sink.min_insync",
            "acknowledged records are on at least min.insync.replicas brokers",
            "fail" if any(insync(name) > replicas(name) for name in there) else "warn",
            lambda name: (
                f"min.insync.replicas={insync(name)} of {replicas(name)}"
                if insync(name) > replicas(name) or (insync(name) < 2 <= replicas(name) - 1)
                else ""
            ),
            "min.insync.replicas=2 of 3 replicas",
            alter + "min.insync.replicas=2",
        ),
        about(
            "sink.unclean_election",
            "no unclean leader election",
            "warn",
            lambda name: "on" if value(name, "unclean.leader.election.enable") == "true" else "",
            "unclean.leader.election.enable=false: acknowledged records would be lost",
            alter + "unclean.leader.election.enable=false",
        ),
        about(
            "sink.max_message",
            f"records up to {config.max_record_bytes} bytes fit",
            "warn",
            small,
            f"max.message.bytes={config.max_record_bytes + BATCH_OVERHEAD}: {larger}",
            alter + f"max.message.bytes={config.max_record_bytes + BATCH_OVERHEAD}",
        ),
        about(
            "sink.retention",
            "records are kept for a day or longer",
            "warn",
            short,
            "retention.ms of a day or more: a consumer that is away for longer loses records",
            alter + "retention.ms=604800000",
        ),
        about(
            "sink.compaction",
            "every change is kept",
            "warn",
            lambda name: "compacted" if "compact" in value(name, "cleanup.policy") else "",
            "cleanup.policy=delete, unless consumers only want the last change of each key",
            alter + "cleanup.policy=delete",
        ),
    ]


def _kept(settings: dict[str, str]) -> int:
    """retention.ms of a topic from which records are deleted; -1 of any other."""
    return int(settings.get("retention.ms", "-1")) if "delete" in settings.get("cleanup.policy", "delete") else -1


def _replicas(id_: str, found: str, count: int) -> Finding:
    if count == 1:
        wanted = "3 replicas: the loss of one broker's disk loses no record"
        return Finding(id_, "warn", f"{found}, 1 replica", wanted, "Set `sink.replication_factor: 3` on three brokers.")
    return Finding.ok(id_, f"{found}, {count if count > 0 else 'default'} replicas")
