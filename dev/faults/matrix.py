"""The fault matrix: each fault with its required outcome. Names of tests contain its numbers."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    number: int
    fault: str
    must: str


MATRIX: tuple[Row, ...] = (
    Row(1, "The leader is killed", "A standby goes on within T and a start; nothing lost, nothing repeated"),
    Row(2, "The leader is asked to end", "It drains, stores its position, leaves its place, ends with 0; no repeats"),
    Row(3, "The leader is frozen for longer than T", "A standby leads; nothing of the old one is seen when it wakes"),
    Row(4, "The leader is frozen for less than its lease", "It goes on; nobody takes over"),
    Row(5, "All hosts are killed", "The next that starts goes on at the checkpoint"),
    Row(6, "A standby is killed", "Delivery does not notice; that no standby is left is shown"),
    Row(7, "Two hosts of one name", "They are told apart, and both are shown"),
    Row(8, "The way to ZooKeeper is cut for less than the lease", "Goes on, recovers, keeps its term"),
    Row(
        9,
        "The session expires",
        "Emission ends with the lease; the host comes back as another, last in line",
    ),
    Row(10, "ZooKeeper is silent while the connection stands", "The lease ends by our own clock"),
    Row(11, "The leading ZooKeeper is killed", "The session survives; nobody takes over"),
    Row(12, "One ZooKeeper is cut off", "Clients go to those that have the majority"),
    Row(13, "ZooKeeper has no quorum for long", "No emission without a lease; back by itself; logs stay small"),
    Row(14, "ZooKeeper restarts with its sessions", "The same leader goes on"),
    Row(
        15,
        "ZooKeeper has lost its data",
        "The task stops with a reason, never begins now; its position can be set, or a backup restored",
    ),
    Row(16, "An operator deletes the own election node", "The term ends at once; the host stands again"),
    Row(17, "An operator deletes the election", "It is made again; terms rise on"),
    Row(18, "Foreign nodes in the election", "Ignored and reported"),
    Row(19, "The answer to a create is lost", "The node is found by its GUID and owner; no ghost stands in line"),
    Row(20, "A checkpoint is in flight when its term ends", "Refused by its version"),
    Row(21, "The wall clock is wrong by an hour", "No effect on leadership; lag is clamped"),
    Row(22, "One broker of three is killed", "Retried; order is kept"),
    Row(23, "All brokers are down for long", "Reading stops, memory stays flat, nothing is lost"),
    Row(24, "Brokers restart one after another", "Nothing lost, reordered or repeated"),
    Row(25, "Too few replicas are in step", "Nothing is checkpointed until they are"),
    Row(26, "The transactions' coordinator moves", "A new producer reads its position and goes on"),
    Row(27, "A record is too large", "The task stops, or leaves a reference in its place: never dropped"),
    Row(28, "A topic is deleted", "The task stops with a reason; the topic is not made again behind anybody's back"),
    Row(29, "A topic gets more partitions", "The known number stays in use; the next term stops until someone decides"),
    Row(
        30,
        "Kafka is slow; a consumer sleeps",
        "Reading slows down with the broker; consumers hold nobody up; who is about to lose records is named, an alarm",
    ),
    Row(31, "MySQL is killed and restarted", "Reconnects and goes on at its position"),
    Row(32, "MySQL is frozen", "Noticed within two heartbeats; nobody takes over, as nobody could do better"),
    Row(33, "Dump connections are killed", "The transaction is read again; what was sent of it is not sent twice"),
    Row(34, "The binlog rotates", "Positions follow"),
    Row(35, "The binlog was purged past our position", "The task stops and shows the gap"),
    Row(36, "A replica is promoted (GTID)", "Read from when it has all of ours, else refused with the difference"),
    Row(37, "Another server answers, or the binlog was reset", "Refused where the position is not of its binlog"),
    Row(38, "Another replica has our server id", "The task stops and names it"),
    Row(39, "Columns change in mid-stream", "Each row is read with the columns of its time"),
    Row(40, "Old rows are read after a change", "With the columns of their time"),
    Row(48, "The password is rotated", "The task stops after few tries; the new one is read without a restart"),
    Row(49, "A grant is taken away", "The task stops and names the grant"),
    Row(
        50,
        "A configuration nobody understands",
        "The last good one stays; the problem is shown; the process lives",
    ),
    Row(51, "Two operators at once", "The second is told; nobody overwrites another unseen"),
    Row(
        52,
        "A GTID set of very many intervals",
        "Positions of 300 kB are stored and taken over; none above 1 MB is tried",
    ),
    Row(
        53,
        "The disk for our logs is full",
        "Logging stops no task (full disks of ZooKeeper or a broker are not tried: to us they are 13, 22 and 23)",
    ),
    Row(54, "Too few descriptors; a thousand reconnects", "A clean end; nothing is left open"),
    Row(
        55,
        "A certificate has expired, is another host's or authority's",
        "Refused; an alarm 14 days ahead; the new one without a restart",
    ),
    Row(56, "ZooKeeper denies us a task", "Shown as such, not as no task"),
    Row(57, "The Server dies", "The Cores go on; the CLI says what it does not know"),
    Row(59, "The network flaps", "Few take-overs; nothing lost or repeated"),
    Row(
        60,
        "Only a standby reaches the source, the sink or the schema registry",
        "It leads; when nobody does, nothing moves",
    ),
    Row(61, "State of a newer version", "Refused, not overwritten"),
    Row(62, "Maintenance or a pause during a fault", "Nobody is promoted; shown everywhere"),
    Row(
        63,
        "The configuration changes inside a transaction",
        "What is behind the place goes on as configured now; no row is lost or repeated",
    ),
    Row(
        64,
        "`delivery` changes there and back",
        "It goes on where anything was delivered last, not at an older position",
    ),
    Row(65, "Kafka is put back to an earlier state", "The task stops with a reason; an operator says where it goes on"),
    Row(
        70,
        "The worker of a snapshot is killed in each phase of a chunk, up to the commit in Kafka",
        "The next one continues behind the last row that Kafka has; no row is lost or comes twice",
    ),
    Row(
        71,
        "DDL comes between the marks of a snapshot's chunk",
        "The chunk is read again; a row has the columns of its place, and a table whose key changes is begun again",
    ),
    Row(
        72,
        "The source fails over between the marks of a snapshot's chunk, to a server with lower file numbers",
        "The chunk is read again there; each row is read once, and none is older than a change before it",
    ),
    Row(
        73,
        "The log that a snapshot's chunk waits for is lost: reset, or purged",
        "The task stops with a reason and does not wait for ever; the chunk is not delivered",
    ),
    Row(
        74,
        "Keys of rows move between the chunks of a snapshot, and into and out of the one at hand",
        "No row is lost, none is there twice, none is older than a change before it",
    ),
    Row(
        75,
        "Another producer with the task's transactional id fences the worker with a snapshot's chunk in the middle",
        "The next term continues behind the last row that Kafka has; no row is lost or comes twice",
    ),
    Row(
        76,
        "Another table takes the name of one that a snapshot reads: DROP and CREATE, RENAME",
        "No row of the old table follows; all rows of the new one come, with its columns",
    ),
    Row(77, "TRUNCATE comes between the marks of a snapshot's chunk", "No row from before it comes behind it"),
    Row(
        78,
        "A task, or its snapshot alone, is paused in the middle of it for longer than the source keeps its log",
        "The task stops and names the remedy, or delivers all rows again (`when_needed`); of a snapshot that was "
        "paused alone nothing is missed",
    ),
    Row(
        80,
        "An operator skips a transaction that the task did not fail at",
        "Refused by Server and leader; nothing lost",
    ),
    Row(
        81, "The file of a task with tables in quarantine is applied again", "They stay there; nothing of them is lost"
    ),
    Row(
        82,
        "`replicator run` beside a task of its name",
        "Neither's reader, transactions nor position is touched by the other",
    ),
    Row(
        85,
        "An address of the book changes to a server that lacks GTIDs, or to another Kafka cluster",
        "Refused with the difference; the task stays where it is, also after a take-over; nothing lost",
    ),
    Row(
        86, "An address of the book changes under load", "The task goes on at the new server; nothing lost or repeated"
    ),
    Row(90, "A worker is stopped and its Core is killed", "The worker ends with it; a standby goes on"),
    Row(
        91,
        "SIGTERM right after an outage of Kafka, over a slow path",
        "What is in flight is waited for; little is repeated",
    ),
    Row(92, "A host lacks what the task needs", "A host that has it goes on; when none does, all are named"),
    Row(93, "A task is deleted while Cores start it", "Nothing of it stays; the name can be used again at once"),
    Row(
        95,
        "All packets are dropped for 40 s, and sessions end",
        "Nothing of them arrives behind what later ones wrote",
    ),
    Row(
        96,
        "ZooKeeper is put back to a backup of before the last elections",
        "The task stops and names who wrote last; a take-over goes on there, its epochs rise",
    ),
    Row(97, "Two installations have a task of one name on one Kafka", "Each delivers its own; neither fences"),
    Row(98, "A host was suspended for longer than T, its lease clock, too", "Nothing leaves without a new answer"),
    Row(
        99,
        "A snapshot is interrupted: leader killed, switchover, pause, connections lost, source fail-over",
        "It continues behind the last row; each row is read once, and none is older than a change before it",
    ),
    Row(120, "The leader of a task that writes to a server is killed", "A standby goes on; both servers are equal"),
    Row(121, "The target is killed in a commit", "Its position row tells what was committed; nothing twice"),
    Row(122, "The target has no room", "The transaction is repeated as a whole; goes on by itself"),
    Row(123, "The target is read only", "Retried and shown; goes on when it accepts writes"),
    Row(124, "Clients of the target end each other's transactions, and ours", "Repeated as a whole; both are equal"),
    Row(125, "Fail-over to a target that lacks transactions", "The position goes back to it; they are sent again"),
    Row(126, "The former leader is frozen in a transaction of the target", "Its session is ended; it writes no more"),
    Row(127, "The leader or the target is killed in a statement (DDL)", "Executed once; both tables have one shape"),
    Row(128, "The target has no connections left", "Retried and shown; goes on in the same term"),
    Row(129, "The clock of the target is days ahead, then behind", "Rows, terms and take-overs do not depend on it"),
    Row(130, "The only Core that stands for a task of a group is killed", "Another one of the group goes on within T"),
    Row(
        131,
        "A Core of a full group is killed",
        "Its tasks run as far as there is room; no other task moves; the rest when there is room again",
    ),
    Row(132, "A group has no room for a task", "It goes on where it runs, and is shown; it moves when there is room"),
    Row(
        133,
        "Cores of a group are cut off from each other's sight",
        "Nothing is taken from a Core that is there; no task runs twice; one that comes back gets nothing back",
    ),
    Row(
        134,
        "A Core is killed while its host is drained",
        "The drain goes on: it takes nothing when it is started again, until the drain is ended",
    ),
    Row(
        135,
        "Tasks of one source are stopped together under load (cut-over)",
        "All stop at one position with the same rows delivered, and continue from there",
    ),
    Row(
        136,
        "A party of a cut-over has no Core: it was killed",
        "It ends at its timeout and names the task; the others, which had stopped, continue; nothing twice",
    ),
    Row(
        137,
        "A source is locked for maintenance; the Server that wrote it and the leader are killed",
        "Its tasks stay paused on any host, and continue by themselves when it is unlocked",
    ),
    Row(
        140,
        "A dump connection that tasks share is cut: its process is killed",
        "Each task goes on with a separate connection, and they share again; nothing lost or repeated",
    ),
    Row(
        141,
        "A task that shares a dump connection falls behind",
        "The others go on; it reads with a separate connection, and comes back when it has caught up",
    ),
    Row(
        142,
        "The Core that owns a shared dump connection is killed; its source fails over",
        "The tasks share again on the other Core, then at the new primary; exactly once",
    ),
)
