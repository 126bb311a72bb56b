"""Builds and parses all znode paths.

    /mysql_replicator
        /tasks/TASK                                 configuration (TaskRecord)
        /tasks/TASK/instance/HOST-GUID-SEQUENCE     ephemeral sequential: one per Core that stands (InstanceRecord)
        /tasks/TASK/lastCommit                      RUNNING's context (CommitRecord)
        /tasks/TASK/status                          what operators want (StatusRecord)
        /tasks/TASK/maintenance                     there while nobody may be promoted for the task (MaintenanceRecord)
        /tasks/TASK/quarantine                      operators' orders of tables and snapshots (OrdersRecord)
        /tasks/TASK/removing-CZXID                  there while the task is removed
        /tasks/TASK/restoring-ID                    there while the task is restored from a backup
        /tasks/TASK/addresses                       addresses of the book that the task uses (TaskAddressesRecord)
        /tasks/TASK/verify                          the last verification (VerificationRecord)
        /tasks/TASK/verify-order                    its nightly verification (VerifyOrderRecord)
        /tasks/TASK/check                           what the last check has found (CheckRecord)
        /tasks/TASK/trail/HOUR                      where the task stood, minute by minute (PositionHistoryRecord)
        /tasks/TASK/schema/part-SEQUENCE            the schema history (SchemaPart)
        /tasks/TASK/versions/NUMBER                 each version of the configuration (VersionRecord), trimmed
        /tasks/TASK/commands/command-SEQUENCE       operators' commands (CommandRecord)
        /tasks/TASK/history/entry-SEQUENCE          what happened (HistoryRecord), trimmed
        /maintenance                                the same for all tasks
        /security                                   identities of processes, which ACLs name (SecurityRecord)
        /installation                               the id of this tree (InstallationRecord)
        /outgoing                                   addresses that tasks may connect to (OutgoingRecord)
        /restoring                                  there while a backup is restored (RestoreRecord)
        /purged/TASK                                tasks of the name deleted with their positions (PurgedRecord)
        /cutovers/ID                                tasks that are to stop together (CutoverRecord), trimmed
        /source-locks/SOURCE                        there while a source is locked for maintenance (SourceLockRecord)
        /ddns/APP/DOMAIN                            an address of the address book (AddressRecord)
        /ddns/APP/DOMAIN/probe                      whether its server answers (ProbeRecord)
        /ids/replicas/NUMBER                        who reads a source under this replica id (ReplicaIdRecord)
        /ids/sequences/NAME                         the next id of a series (SequenceRecord)
        /fencing                                    what is added to czxids in fencing tokens (FencingRecord)
        /locks/NAME/KIND-GUID-SEQUENCE              ephemeral sequential: one per claim to a lock (ClaimRecord)
        /locks/NAME/witness-GUID                    ephemeral: there as long as the claim of this GUID may be used
        /barriers/NAME/party-GUID-SEQUENCE          ephemeral sequential: one per party (PartyRecord)
        /alerts/silences/ID                         which alerts no message is sent of (SilenceRecord)
        /alerts/sender/...                          a lock: the Monitor that sends messages of alerts
        /alerts/sent                                what was sent (SentRecord)
        /queues/NAME/item-SEQUENCE                  an item (ItemRecord)
        /queues/NAME/taken-SEQUENCE                 ephemeral: the item of this number is with a consumer (ClaimRecord)
        /queues/NAME/line/...                       a lock: the consumer that waits for the next item
        /master_election/DATE/DUTY/...              a lock: the process that does a duty of that date
        /master_election/DATE/DUTY/done             there when it is done (DutyRecord)
        /machines/HOST                              ephemeral: one per Core process (MachineRecord)
        /agents/online/HOST                         ephemeral: one per agent process (MachineRecord)
        /agents/stopped/HOST                        there while its agent has ended on purpose (StoppedRecord)
        /stopped/HOST                               there while its Core has ended on purpose (StoppedRecord)
        /expected/HOST                              there while the machine is expected (ExpectedRecord)
        /drained/HOST                               there while its Core is to hand over all tasks (DrainRecord)
        /task-groups/GROUP                          where the tasks of a group are placed, and pins (GroupRecord)
        /task-groups/GROUP/members/HOST             ephemeral: one per Core of the group (MemberRecord)
        /servers/instance/HOST-GUID-SEQUENCE        ephemeral sequential: one per Server
        /monitors/HOST-GUID-SEQUENCE                ephemeral sequential: one per Monitor (MonitorRecord)
        /logs/requests/request-SEQUENCE             ephemeral: log lines are wanted of processes (LogRequest)
        /logs/parts/REQUEST.GUID.INDEX.COUNT        ephemeral: log lines of a process, for a request (LogPart)
        /tokens/ID                                  a token, by its hash (TokenRecord)
        /users/NAME                                 a person with a password, by its hash (UserRecord)
        /audit/entry-SEQUENCE                       a request that changed something (AuditRecord), trimmed
        /audit/refused-SEQUENCE                     a request that failed or was refused (AuditRecord), trimmed
        /requests/KEY                               a request with an idempotency key, and its answer (RequestRecord)

Names of tasks, hosts, databases and tables that a znode can't carry are escaped by `escape`: every byte of the UTF-8
name outside `A-Z a-z 0-9 _ . -` (and a leading dot) becomes `%XX`, upper-case. Names are restored by `unescape`.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

DEFAULT_ROOT = "/mysql_replicator"
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_CLAIM = re.compile(r"^(?P<kind>exclusive|shared)-(?P<guid>[0-9a-f]{32})-(?P<sequence>\d{10})$")
_CONTENDER = re.compile(r"^(?P<host>.+)-(?P<guid>[0-9a-f]{32})-(?P<sequence>\d{10})$")


def escape(name: str) -> str:
    """A name as a znode or Kafka topic can carry it; the rule stands in the module's docstring."""
    raw = name.encode()
    return "".join(
        chr(byte) if byte in _PLAIN and not (index == 0 and byte == 0x2E) else f"%{byte:02X}"
        for index, byte in enumerate(raw)
    )


def unescape(text: str) -> str:
    """Never fails: of a name that `escape` did not make (a node made by hand) it gives something to show."""
    raw = re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())
    return raw.decode(errors="replace")


class Contender(NamedTuple):
    """A child of an election node. `host` is a label; identity is `guid` (one per process and task)."""

    host: str
    guid: str
    sequence: int
    name: str


def parse_contender(name: str) -> Contender | None:
    """None for anything that is not ours: foreign children are ignored (and reported), never followed."""
    match = _CONTENDER.match(name)
    if match is None:
        return None
    return Contender(unescape(match["host"]), match["guid"], int(match["sequence"]), name)


class ClaimName(NamedTuple):
    """A child of a lock's node."""

    kind: Literal["exclusive", "shared"]
    guid: str
    sequence: int
    name: str


def parse_claim(name: str) -> ClaimName | None:
    """None for anything else, also for the witness of a claim."""
    match = _CLAIM.match(name)
    if match is None:
        return None
    kind: Literal["exclusive", "shared"] = "shared" if match["kind"] == "shared" else "exclusive"
    return ClaimName(kind, match["guid"], int(match["sequence"]), name)


def claim_prefix(base: str, kind: str, guid: str) -> str:
    """`base`: the node of the lock."""
    return f"{base}/{kind}-{guid}-"


def witness(base: str, guid: str) -> str:
    return f"{base}/{WITNESS}{guid}"


WITNESS: Final = "witness-"
PARTY: Final = "party-"
ITEM: Final = "item-"
TAKEN: Final = "taken-"


class Layout:
    """The paths under one root."""

    def __init__(self, root: str = DEFAULT_ROOT) -> None:
        self.root = "/" + root.strip("/")

    @property
    def tasks(self) -> str:
        return f"{self.root}/tasks"

    def task(self, task: str) -> str:
        return f"{self.tasks}/{escape(task)}"

    def task_name(self, child: str) -> str:
        """The task's name from the name of a child of `tasks`."""
        return unescape(child)

    def is_task(self, child: str) -> bool:
        """False for a child of `tasks` that we would have named otherwise: made by hand, not ours."""
        return escape(unescape(child)) == child

    def election(self, task: str) -> str:
        return f"{self.task(task)}/instance"

    def contender_prefix(self, task: str, host: str, guid: str) -> str:
        """What a sequential node is created with; the coordinator appends ten digits."""
        return f"{self.election(task)}/{escape(host)}-{guid}-"

    def contender(self, task: str, name: str) -> str:
        return f"{self.election(task)}/{name}"

    def last_commit(self, task: str) -> str:
        return f"{self.task(task)}/lastCommit"

    def status(self, task: str) -> str:
        return f"{self.task(task)}/status"

    def removal(self, task: str, czxid: int) -> str:
        """`czxid`: of the task's node, which tells incarnations of the name apart."""
        return f"{self.task(task)}/removing-{czxid:x}"

    def restoration(self, task: str, run: str) -> str:
        """`run`: id of one run of a restore."""
        return f"{self.task(task)}/restoring-{run}"

    @property
    def restore(self) -> str:
        return f"{self.root}/restoring"

    def maintenance(self, task: str = "") -> str:
        """Of one task, or of all."""
        return f"{self.task(task) if task else self.root}/maintenance"

    def orders(self, task: str) -> str:
        return f"{self.task(task)}/quarantine"

    def verification(self, task: str) -> str:
        return f"{self.task(task)}/verify"

    def verify_order(self, task: str) -> str:
        return f"{self.task(task)}/verify-order"

    def task_check(self, task: str) -> str:
        return f"{self.task(task)}/check"

    def task_addresses(self, task: str) -> str:
        return f"{self.task(task)}/addresses"

    @property
    def addresses(self) -> str:
        return f"{self.root}/ddns"

    def addresses_of(self, app: str) -> str:
        return f"{self.addresses}/{escape(app)}"

    def address(self, app: str, domain: str) -> str:
        return f"{self.addresses_of(app)}/{escape(domain)}"

    def address_probe(self, app: str, domain: str) -> str:
        return f"{self.address(app, domain)}/probe"

    @property
    def security(self) -> str:
        return f"{self.root}/security"

    @property
    def outgoing(self) -> str:
        return f"{self.root}/outgoing"

    @property
    def installation(self) -> str:
        return f"{self.root}/installation"

    def position_history(self, task: str) -> str:
        return f"{self.task(task)}/trail"

    def position_history_hour(self, task: str, hour: int) -> str:
        """`hour`: hours since the epoch."""
        return f"{self.position_history(task)}/{hour:010d}"

    def schema(self, task: str) -> str:
        return f"{self.task(task)}/schema"

    def schema_prefix(self, task: str) -> str:
        return f"{self.schema(task)}/part-"

    def versions(self, task: str) -> str:
        return f"{self.task(task)}/versions"

    def version(self, task: str, number: int) -> str:
        """`number`: data version of the task's znode."""
        return f"{self.versions(task)}/{number:010d}"

    def commands(self, task: str) -> str:
        return f"{self.task(task)}/commands"

    def command_prefix(self, task: str) -> str:
        return f"{self.commands(task)}/command-"

    def history(self, task: str) -> str:
        return f"{self.task(task)}/history"

    def history_prefix(self, task: str) -> str:
        return f"{self.history(task)}/entry-"

    @property
    def purged(self) -> str:
        return f"{self.root}/purged"

    def purged_task(self, task: str) -> str:
        return f"{self.purged}/{escape(task)}"

    @property
    def alerts(self) -> str:
        return f"{self.root}/alerts"

    @property
    def silences(self) -> str:
        return f"{self.alerts}/silences"

    def silence(self, id_: str) -> str:
        return f"{self.silences}/{id_}"

    @property
    def alert_sender(self) -> str:
        return f"{self.alerts}/sender"

    @property
    def alerts_sent(self) -> str:
        return f"{self.alerts}/sent"

    @property
    def replica_ids(self) -> str:
        return f"{self.root}/ids/replicas"

    def replica_id(self, number: int) -> str:
        return f"{self.replica_ids}/{number}"

    @property
    def machines(self) -> str:
        return f"{self.root}/machines"

    def machine(self, host: str) -> str:
        return f"{self.machines}/{escape(host)}"

    @property
    def agents(self) -> str:
        return f"{self.root}/agents/online"

    def agent(self, host: str) -> str:
        return f"{self.agents}/{escape(host)}"

    @property
    def stopped_agents(self) -> str:
        return f"{self.root}/agents/stopped"

    def stopped_agent(self, host: str) -> str:
        return f"{self.stopped_agents}/{escape(host)}"

    @property
    def stopped(self) -> str:
        return f"{self.root}/stopped"

    def stopped_core(self, host: str) -> str:
        return f"{self.stopped}/{escape(host)}"

    @property
    def expected(self) -> str:
        return f"{self.root}/expected"

    def expected_machine(self, host: str) -> str:
        return f"{self.expected}/{escape(host)}"

    @property
    def drained(self) -> str:
        return f"{self.root}/drained"

    def drained_host(self, host: str) -> str:
        return f"{self.drained}/{escape(host)}"

    @property
    def groups(self) -> str:
        return f"{self.root}/task-groups"

    def group(self, group: str) -> str:
        return f"{self.groups}/{escape(group)}"

    def members(self, group: str) -> str:
        return f"{self.group(group)}/members"

    def member(self, group: str, host: str) -> str:
        return f"{self.members(group)}/{escape(host)}"

    @property
    def servers(self) -> str:
        return f"{self.root}/servers/instance"

    def server_prefix(self, host: str, guid: str) -> str:
        return f"{self.servers}/{escape(host)}-{guid}-"

    @property
    def monitors(self) -> str:
        return f"{self.root}/monitors"

    def monitor_prefix(self, host: str, guid: str) -> str:
        return f"{self.monitors}/{escape(host)}-{guid}-"

    @property
    def log_requests(self) -> str:
        return f"{self.root}/logs/requests"

    @property
    def log_request_prefix(self) -> str:
        return f"{self.log_requests}/request-"

    @property
    def log_parts(self) -> str:
        return f"{self.root}/logs/parts"

    def log_part(self, request: str, process: str, index: int, count: int) -> str:
        """`request`: name of its node; `process`: id of the one that answers."""
        return f"{self.log_parts}/{request}.{process}.{index:03d}.{count:03d}"

    @property
    def tokens(self) -> str:
        return f"{self.root}/tokens"

    def token(self, id_: str) -> str:
        return f"{self.tokens}/{id_}"

    @property
    def users(self) -> str:
        return f"{self.root}/users"

    def user(self, name: str) -> str:
        return f"{self.users}/{escape(name)}"

    @property
    def audit(self) -> str:
        return f"{self.root}/audit"

    def audit_prefix(self, *, refused: bool) -> str:
        return f"{self.audit}/{'refused' if refused else 'entry'}-"

    @property
    def requests(self) -> str:
        return f"{self.root}/requests"

    def request(self, id_: str) -> str:
        return f"{self.requests}/{id_}"

    @property
    def sequences(self) -> str:
        return f"{self.root}/ids/sequences"

    def sequence(self, name: str) -> str:
        return f"{self.sequences}/{escape(name)}"

    @property
    def fencing(self) -> str:
        return f"{self.root}/fencing"

    @property
    def source_locks(self) -> str:
        return f"{self.root}/source-locks"

    def source_lock(self, source: str) -> str:
        """`source`: host:port or ddns:APP/DOMAIN."""
        return f"{self.source_locks}/{escape(source)}"

    @property
    def cutovers(self) -> str:
        return f"{self.root}/cutovers"

    def cutover(self, id_: str) -> str:
        return f"{self.cutovers}/{escape(id_)}"

    @property
    def locks(self) -> str:
        return f"{self.root}/locks"

    def lock(self, name: str) -> str:
        return f"{self.locks}/{escape(name)}"

    @property
    def barriers(self) -> str:
        return f"{self.root}/barriers"

    def barrier(self, name: str) -> str:
        return f"{self.barriers}/{escape(name)}"

    def party_prefix(self, barrier: str, guid: str) -> str:
        return f"{self.barrier(barrier)}/{PARTY}{guid}-"

    @property
    def queues(self) -> str:
        return f"{self.root}/queues"

    def queue(self, name: str) -> str:
        return f"{self.queues}/{escape(name)}"

    def item_prefix(self, queue: str) -> str:
        return f"{self.queue(queue)}/{ITEM}"

    def taken(self, queue: str, number: str) -> str:
        """`number`: the ten digits of the item's name."""
        return f"{self.queue(queue)}/{TAKEN}{number}"

    def queue_line(self, queue: str) -> str:
        return f"{self.queue(queue)}/line"

    @property
    def duties(self) -> str:
        return f"{self.root}/master_election"

    def duty(self, date: str, name: str) -> str:
        return f"{self.duties}/{date}/{name}"

    def duty_done(self, date: str, name: str) -> str:
        return f"{self.duty(date, name)}/done"
