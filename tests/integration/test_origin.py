"""A position of one server's binlog does not become a position of another's."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest

from dev.servers.database import Database, MariaDB, MySQL
from replicator.config.task import MySQLSource as Config
from replicator.decode.decoder import BinlogDecoder
from replicator.errors import PositionGone, ReplicatorError, SourceError
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.source.mysql import MySQLSource

KINDS = ("mysql", "mysql without GTIDs", "mariadb")
NO_GTIDS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
Make = Callable[..., Database]


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Make:
    """Makes servers with one server_id, as most people have them."""
    if request.param == "mariadb":
        factory: Make = request.getfixturevalue("make_mariadb")
        return lambda **options: factory(**{"server_id": 1, **options})
    factory = request.getfixturevalue("make_mysql")
    extra = NO_GTIDS if "without" in request.param else ()
    return lambda **options: factory(**{"server_id": 1, "extra_args": extra, **options})


def source(server: Database, **changes: Any) -> MySQLSource:
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    base = {"type": kind, "host": "127.0.0.1", "port": server.port, "user": "replicator", "password": "env:X"}
    return MySQLSource(Config.model_validate(base | {"heartbeat_s": 1} | changes), "origin", "replicator")


def insert(server: Database, rows: int) -> None:
    server.execute("CREATE DATABASE IF NOT EXISTS o")
    server.execute("CREATE TABLE IF NOT EXISTS o.t (id INT PRIMARY KEY AUTO_INCREMENT)")
    for _ in range(rows):
        server.execute("INSERT INTO o.t VALUES ()")


def read(server: Database, position: Position) -> Position:
    """Streams from `position` to the end of the log."""
    end = source(server).end_position()
    stream = source(server).open(position)
    decoder = BinlogDecoder(
        lambda table: None,
        position=stream.position,
        flavor="mariadb" if isinstance(server, MariaDB) else "mysql",
        framing=stream.framing,
        server_error=stream.server_error,
    )
    deadline = time.monotonic() + 30
    try:
        while decoder.position.order < end.order and time.monotonic() < deadline:
            decoder.feed(stream.read(0.2))
    finally:
        stream.close()
    assert decoder.position.order == end.order, decoder.position
    return decoder.position


def refused(server: Database, position: Position, *codes: str) -> SourceError:
    with pytest.raises(SourceError) as raised:
        source(server).open(position).close()
    assert raised.value.code in (codes or ("E2218",)), raised.value
    return raised.value


def reset(server: Database) -> None:
    server.execute("RESET MASTER" if isinstance(server, MariaDB) else "RESET BINARY LOGS AND GTIDS")


def test_every_position_says_whose_it_is(make: Make) -> None:
    server = make()
    insert(server, 3)
    first = source(server).start_position()
    origin = Origin.parse(first.server)
    assert origin.server == (
        "server_id 1" if isinstance(server, MariaDB) else str(server.execute("SELECT @@server_uuid")[0][0])
    )
    assert abs((origin.created or 0) - time.time()) < 3600
    insert(server, 3)
    position = read(server, first)
    assert position.server.startswith(f"{first.server}/")
    server.execute("FLUSH BINARY LOGS")
    insert(server, 3)
    position = read(server, position)  # from the end of the file before
    assert Origin.parse(position.server).server == origin.server
    server.restart()
    assert read(server, position).file > position.file
    server.execute("FLUSH BINARY LOGS")
    last = source(server).end_position().file
    position = read(server, position)
    server.execute(f"PURGE BINARY LOGS TO '{last}'")
    source(server).open(position).close()


def test_another_server_at_the_same_address(make: Make) -> None:
    """`host` changed, or what its name means: 20 of its 40 rows went missing."""
    one = make()
    time.sleep(1.1)  # files are told apart by the second
    other = make()
    insert(one, 20)
    position = read(one, source(one).start_position())
    insert(other, 40)
    there = source(other).start_position()
    assert Origin.parse(there.server).created != Origin.parse(position.server).created
    assert there.file == position.file and there.offset > position.offset, "a place that the other one has as well"
    by_uuids = isinstance(one, MySQL) and bool(position.gtid)
    refused(other, position, "E2209" if by_uuids else "E2218")


def test_reset_binary_logs(make: Make) -> None:
    """The same server, and with GTIDs the same GTIDs: for other transactions."""
    server = make()
    insert(server, 20)
    position = read(server, source(server).start_position())
    time.sleep(1.1)  # files are told apart by the second
    reset(server)
    insert(server, 60)
    refused(server, position)
    error = refused(server, Position(position.file, 4, position.gtid, server=position.server))
    assert "reset" in error.what and "position set" in error.fix


def test_an_open_stream_does_not_go_on_in_a_log_that_was_reset(make: Make) -> None:
    server = make()
    insert(server, 2)
    server.execute("FLUSH BINARY LOGS")
    position = read(server, source(server).start_position())
    stream = source(server).open(position)
    decoder = BinlogDecoder(
        lambda table: None,
        position=stream.position,
        flavor="mariadb" if isinstance(server, MariaDB) else "mysql",
        framing=stream.framing,
        server_error=stream.server_error,
    )
    decoder.feed(stream.read(1))
    reset(server)
    insert(server, 20)
    deadline = time.monotonic() + 30
    try:
        with pytest.raises(ReplicatorError) as raised:
            while time.monotonic() < deadline:
                decoder.feed(stream.read(0.2))
    finally:
        stream.close()
    assert raised.value.code in ("E2218", "E2211", "E2002"), raised.value
    refused(server, decoder.position)


def test_restored_copy_with_the_same_server_uuid(make: Make) -> None:
    """A copy of the data directory, auto.cnf included: what both have may be read from either, what came later not."""
    server = make()
    insert(server, 10)
    early = read(server, source(server).start_position())
    server.stop()
    copy = make()
    copy.stop()
    shutil.rmtree(copy.folder / "data")
    shutil.copytree(server.folder / "data", copy.folder / "data")
    server.start()
    insert(server, 5)
    late = read(server, early)
    time.sleep(1.1)
    copy.start()
    insert(copy, 30)
    source(copy).open(early).close()
    error = refused(copy, late)
    assert not isinstance(error, PositionGone), "a new snapshot would set consumers back"
    source(server).open(late).close()


def test_a_position_of_unknown_origin_takes_that_of_the_first_server(make: Make) -> None:
    """As operators set it, or as an earlier version wrote it."""
    one, other = make(), make()
    insert(one, 5)
    insert(other, 50)
    end = source(one).end_position()
    assert end.server == ""
    stream = source(one).open(end)
    stream.close()
    learned = stream.position
    assert Origin.parse(learned.server).server == Origin.parse(source(one).start_position().server).server
    if not learned.gtid:
        refused(other, learned)


def test_start_that_names_another_server(make: Make) -> None:
    """As `task fork` writes it."""
    one, other = make(), make()
    insert(one, 5)
    insert(other, 50)
    there = source(one).start_position()
    place = {"file": there.file, "position": there.offset, "server": there.server}
    start = {"gtid": there.gtid, "reached": place} if there.gtid else place
    assert source(one, start=start).start_position().gtid == there.gtid
    assert there.server
    moved = {**place, "server": f"{Origin.parse(there.server).server}@1"}
    wrong = {"gtid": there.gtid, "reached": moved} if there.gtid else moved
    with pytest.raises(SourceError) as raised:
        source(one, start=wrong).start_position()
    assert raised.value.code == "E2218"
    if isinstance(one, MySQL) and not there.gtid:
        with pytest.raises(SourceError) as raised:
            source(other, start=start).start_position()
        assert raised.value.code == "E2218"
