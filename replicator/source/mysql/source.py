"""The Source port for MySQL and MariaDB. See DESIGN.md."""

from __future__ import annotations

import time
from functools import partial

from replicator.config.task import MySQLSource as Config
from replicator.errors import ReplicatorError, SourceUnavailable
from replicator.model.behind import Behind
from replicator.model.position import Begin, Position
from replicator.model.replica_id import derived
from replicator.model.source_end import SourceEnd
from replicator.mysql.hosts import candidates
from replicator.mysql.server import Server, read_server
from replicator.mysql.session import Session
from replicator.source.mysql import dump, named_tables, positions, preflight, replica_id_conflicts, retention_headroom
from replicator.source.mysql.event_headers import event_length, read_origin
from replicator.source.mysql.group_member import check_member, hosts_of
from replicator.source.mysql.log_sizes import LogSizes
from replicator.source.mysql.origin import OriginReader
from replicator.source.mysql.stream import MySQLStream
from replicator.source.shared.terms import Terms, terms

_SCAN_SECONDS = 60.0  # MariaDB walks one binlog file, 1 GB by default, before it sends the first event after a GTID

_CLOCK_SECONDS = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP())"  # MySQL 5.5
_CLOCK = _CLOCK_SECONDS.replace("()", "(6)")


class MySQLSource:
    """Streams the binlog of one server. Makes one connection per question and one per stream, and never reconnects by
    itself: a stream that ends raises SourceUnavailable, and the pipeline opens another one.

    Args:
        config: the `source` part of the task.
        task: the task's name; shown in SHOW REPLICAS.
        password: resolved.
        server_id: our replica id; default: the configured one, else derived from the task's name.
        statements: whether somebody wants the texts of the statements behind rows. MariaDB logs them by default, and
            sends them only when asked.

    Attributes:
        with_terms: streams are opened with the terms under which they may be shared (`source/shared`).
    """

    def __init__(
        self, config: Config, task: str, password: str, server_id: int | None = None, *, statements: bool = False
    ) -> None:
        self._config = config
        self._hosts = hosts_of(config)
        self._task = task
        self._password = password
        self._statements = statements
        self.server_id = server_id or config.server_id or derived(task)
        self.with_terms = False
        self._log_sizes = LogSizes()

    def start_position(self, begin: Begin | None = None) -> Position:
        return self._hosts.first(partial(self._start_position, begin))

    def _start_position(self, begin: Begin | None, config: Config) -> Position:
        if begin is not None:
            config = config.model_copy(update={"start": begin})
        with Session(config, self._password) as session:
            server = read_server(session)
            check_member(server, config)
            preflight.check(server, config)
            named_tables.check_tables_exist(session, config)
            length = partial(event_length, config, self._password, self._task, server)
            return positions.start_position(session, server, config, length, self._origin_reader(config, server))

    def end_position(self) -> Position:
        return self._hosts.first(self._end_position)

    def _end_position(self, config: Config) -> Position:
        with Session(config, self._password) as session:
            server = read_server(session)
            check_member(server, config)
            return positions.end_position(session, server)

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        """Asks the server that was used last, and no other one: a stream may read from it."""
        with Session(self._hosts.current, self._password) as session:
            server = read_server(session)
            before = time.time_ns()
            clock = session.value(_CLOCK if server.has_fractions else _CLOCK_SECONDS)
            here_ms = (before + time.time_ns()) // 2_000_000
            end = positions.end_position(session, server)
            left = self._log_sizes.behind(session, server, delivered, end) if delivered is not None else Behind()
            return SourceEnd(end, int(clock) // 1000 - here_ms, left)

    def open(self, position: Position) -> MySQLStream:
        return self._hosts.first(lambda config: self._open(config, position))

    def _open(self, config: Config, position: Position) -> MySQLStream:
        session = Session(config, self._password)
        try:
            server = read_server(session)
            check_member(server, config)
            preflight.check(server, config)
            position = positions.check(session, server, position, self._origin_reader(config, server))
            terms = self._terms(session, server, config) if self.with_terms else None
            dump.start(session, server, config, self._task, self.server_id, position, statements=self._statements)
            scans = server.mariadb and positions.by_gtid(server, position)
            patience = max(config.connect_timeout_s, _SCAN_SECONDS if scans else 0)
            return MySQLStream(session, position, 2 * config.heartbeat_s, patience, self._rival, terms)
        except BaseException:
            session.close()
            raise

    def open_end(self, where: str) -> MySQLStream:
        """What the log of this server, host:port, gets from now on. By file and offset, so that nothing of it is left
        out, whatever has been executed. With its terms."""
        config = next((each for each in candidates(self._config) if f"{each.host}:{each.port}" == where), None)
        if config is None:
            raise SourceUnavailable("E2002", f"{where} is not a server of the task")
        session = Session(config, self._password)
        try:
            server = read_server(session)
            check_member(server, config)
            preflight.check(server, config)
            terms = self._terms(session, server, config)
            position = Position(terms.file, terms.offset)
            dump.start(session, server, config, self._task, self.server_id, position, statements=self._statements)
            silence = 2 * config.heartbeat_s
            return MySQLStream(session, position, silence, config.connect_timeout_s, self._rival, terms)
        except BaseException:
            session.close()
            raise

    def _terms(self, session: Session, server: Server, config: Config) -> Terms:
        end = positions.end_position(session, server)
        return terms(config, self._password, server, (end.file, end.offset), statements=self._statements)

    def check(self, position: Position) -> Position:
        """Makes the checks of `open` without opening a stream. Raises SourceUnavailable, SourceError."""
        return self._hosts.first(lambda config: self._check(config, position))

    def _check(self, config: Config, position: Position) -> Position:
        with Session(config, self._password) as session:
            server = read_server(session)
            check_member(server, config)
            preflight.check(server, config)
            return positions.check(session, server, position, self._origin_reader(config, server))

    def by_gtid(self, position: Position) -> bool:
        """See `positions.by_gtid`. Raises SourceUnavailable, SourceError."""
        return self._hosts.first(lambda config: self._by_gtid(config, position))

    def _by_gtid(self, config: Config, position: Position) -> bool:
        with Session(config, self._password) as session:
            return positions.by_gtid(read_server(session), position)

    def _origin_reader(self, config: Config, server: Server) -> OriginReader:
        return partial(read_origin, config, self._password, self._task, server)

    def _rival(self) -> str:
        """Who else reads with our id; "" when the server does not say."""
        try:
            with Session(self._hosts.current, self._password) as session:
                return replica_id_conflicts.describe_other_replicas(session, self.server_id)
        except ReplicatorError:
            return ""

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        """See `retention_headroom.remaining`; asks the server. Raises SourceUnavailable, SourceError."""
        with Session(self._hosts.current, self._password) as session:
            return retention_headroom.remaining(session, read_server(session), position, behind_s, speed)
