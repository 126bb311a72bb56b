"""Older and newer releases than those of the other suites: of scripts with all types and kinds of statements they run
what they can; a consumer rebuilds what they then select, from the stream and from their files, by both decoders."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import replicator.assembly.pipeline
from dev.fetch.releases import OLDER
from dev.servers import Database
from replicator import compiled
from replicator.decode.decoder import BinlogDecoder
from replicator.errors import DecodeError, SourceError
from replicator.model.position import Position
from replicator.source.binlog_layout import HEADER
from replicator.source.mysql.checks import check
from replicator.source.mysql.source import MySQLSource
from replicator.source.recorded_source import RecordedSource
from tests.golden.compare import HERE as GOLDEN
from tests.golden.compare import Record, load
from tests.golden.debezium_consumer import Consumer
from tests.golden.recording import everything
from tests.golden.rules_debezium import masked
from tests.servers import started
from tests.support.releases import Task, attempt, differences, server_of
from tests.support.script import statements

pytestmark = pytest.mark.servers

ZOO = Path(__file__).parent.parent / "support" / "type_zoo.sql"
LOSSLESS = {
    "schemas_enable": True,
    "bigint_unsigned_handling_mode": "precise",
    "replace_null_with_default": False,
    "enable_time_adjuster": False,
    "skipped_operations": [],
}
CASCADED = {"zoo.fk_child", "zoo.fk_setnull"}
"""Tables whose rows the storage engine changes, which no release before MySQL 9.6 logs (docs/limits.md)."""
VIRTUAL = {"table": "zoo.t_gen", "columns": ["vi", "vs"]}
"""What MariaDB logs since 10.5."""
GENERATED = ["vi", "vs", "st"]
"""What MariaDB leaves out of updates and deletes, from 11.8.9 on."""
ROWS = {"mysql": 275, "mariadb": 585}
"""How many rows are compared at least: what a release refuses of the scripts must not become more unnoticed."""


class Run:
    """What a server has after the scripts, and what was delivered of them."""

    def __init__(self, server: Database, folder: Path) -> None:
        self.server = server
        self.leaves_out = leaves_out_generated(server)
        without = VIRTUAL["columns"] if server.release.name == "mariadb-10.2" else []
        without = GENERATED if self.leaves_out else without
        rules = [{"tables": [VIRTUAL["table"]], "exclude": without}] if without else []
        options = {"format": "debezium", "debezium": LOSSLESS}
        images = {"row_image": "accept_partial"} if self.leaves_out else {}
        self.task = Task(server, folder, options, transforms={"columns": rules}, source=images)
        self.whole = Task(server, folder / "whole", options)
        server.execute("CREATE DATABASE types CHARACTER SET utf8mb4")
        newer = {"mariadb_11"} if server.release.version < (11, 5) else set()
        self.wrong = attempt(server, statements(ZOO, leave_out=newer), database="types")
        tables = [str(name) for (name,) in server.execute("SHOW TABLES FROM types")]
        moved = (f"UPDATE types.{table} SET id = id + 1000 WHERE id % 2 ORDER BY id DESC" for table in tables)
        self.wrong += attempt(server, moved)
        self.wrong += attempt(server, statements(GOLDEN / "zoo.sql"))
        self.truth = {name: rows for name, rows in everything(server).items() if name not in CASCADED}
        for row in self.truth.get("zoo.t_gen", []):
            for column in without:
                del row[column]
        self.streamed = load(self.task.lines())

    def recorded(self, folder: Path) -> list[Record]:
        """From copies of the binlog files that hold the scripts."""
        self.server.execute("FLUSH BINARY LOGS")
        names = [str(name) for name, *_ in self.server.execute("SHOW BINARY LOGS")]
        start = self.task.start
        names = names[names.index(start.file) : -1]
        files = [Path(shutil.copy(self.server.folder / "data" / name, folder)) for name in names]
        return load(self.task.lines(RecordedSource(files, Position(start.file, HEADER, start.gtid))))


def leaves_out_generated(server: Database) -> bool:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)-MariaDB", str(server.execute("SELECT VERSION()")[0][0]))
    return found is not None and tuple(map(int, found.groups())) >= (11, 8, 9)


@pytest.fixture(scope="module", params=OLDER, ids=lambda release: release.name)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One server at a time."""
    os.environ["RELEASE_PASSWORD"] = "replicator"
    server = started(server_of(request.param))
    try:
        yield Run(server, tmp_path_factory.mktemp("release"))
    finally:
        server.close()


def test_a_consumer_rebuilds_what_the_server_selects(run: Run) -> None:
    consumer = Consumer()
    consumer.take(record for record in run.streamed if not any(record.topic.endswith(name) for name in CASCADED))
    wrong, compared = differences(consumer, run.truth)
    assert not wrong, "\n".join(wrong)
    assert compared >= ROWS[run.server.release.flavour]


def test_a_release_runs_all_that_it_has(run: Run) -> None:
    assert not run.wrong, "\n".join(run.wrong)


def test_its_files_give_the_same_by_the_other_decoder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiled.available() or os.environ.get("CI") != "true"
    monkeypatch.setattr(replicator.assembly.pipeline, "decoder_class", lambda: BinlogDecoder)
    found = run.recorded(tmp_path)
    assert len(found) == len(run.streamed)
    for mine, theirs in zip(found, run.streamed, strict=True):
        assert _shown(mine) == _shown(theirs)


def _shown(record: Record) -> tuple[str, bytes | None, str | None]:
    return record.topic, record.key, None if record.value is None else masked(record.value.decode())


def test_check_finds_nothing_that_fails(run: Run) -> None:
    config = run.task.config
    findings = check(config.database, "release", run.server.replicator[1], 4711).findings
    assert not [finding for finding in findings if finding.severity == "fail"]
    assert {"source.position", "source.our_server_id", "source.clock"} <= {finding.id for finding in findings}


def test_virtual_columns_that_are_not_logged_are_refused(run: Run) -> None:
    """Until a rule leaves them out."""
    if run.server.release.name != "mariadb-10.2" and not run.leaves_out:
        run.whole.lines()
        return
    with pytest.raises(DecodeError) as raised:
        run.whole.lines()
    assert raised.value.code == "E2304"
    names = [name for name in ("st", "vi", "vs") if name in (GENERATED if run.leaves_out else VIRTUAL["columns"])]
    assert all(name in raised.value.fix.rpartition("exclude: ")[2] for name in names)
    assert raised.value.table == VIRTUAL["table"]


def test_a_stream_without_gtids_begins_between_transactions_only(run: Run) -> None:
    """All statements in transactions and a fifth of the other events as the place to begin; which of them are between
    transactions is seen from the start of the file."""
    if run.server.release.name != "mysql-5.5":
        return
    file = run.whole.start.file
    inside, checked, source = False, Counter[bool](), run.task.source()
    for number, (_, at, kind, _, _, info) in enumerate(run.server.execute(f"SHOW BINLOG EVENTS IN '{file}'")):
        between = not inside
        if kind == "Query" and info == "BEGIN":
            inside = True
        elif kind == "Xid" or (kind == "Query" and info in ("COMMIT", "ROLLBACK")):
            inside = False
        if number % 5 == 0 or (kind == "Query" and not between):
            assert _begins(source, Position(file, at)) == between, (at, kind, info)
            checked[between] += 1
    assert min(checked.values()) > 50


def _begins(source: MySQLSource, position: Position) -> bool:
    try:
        source.open(position).close()
    except SourceError as error:
        assert error.code == "E2209"
        return False
    return True
