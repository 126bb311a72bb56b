"""`replicator run`: the data path of one task in this process, without ZooKeeper."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import click

from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.sqlite import SqliteStore
from replicator.cli import host_options, options
from replicator.cli.ddns.resolution import with_addresses
from replicator.cli.failures import INTERRUPTED
from replicator.cli.live import LiveLine, LogLines
from replicator.cli.loading import loading
from replicator.cli.run_snapshot import check_complete, check_new, order_snapshot, with_added_tables, with_snapshot
from replicator.cli.run_state import open_state, replica_name
from replicator.config.load import load_task, parse_task, to_data
from replicator.config.task import Records, TaskConfig
from replicator.coordination.clock import now_ms
from replicator.errors import ConfigError, ProcessError
from replicator.host import access
from replicator.model import quarantine_orders
from replicator.model.quarantine import TaskOrders
from replicator.model.replica_id import derived
from replicator.model.term import Term
from replicator.pipeline.pipeline import Pipeline
from replicator.telemetry import log


@click.command("run", short_help="Run one task in this process, without ZooKeeper.")
@click.option("-f", "--file", "path", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Task file.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    help="SQLite file with the position; default: one for each task and sink.",
)
@click.option(
    "--sink",
    metavar="stdout|file:PATH",
    help="Replace the sink of the task; the position is stored separately. PATH may be anywhere.",
)
@click.option(
    "--quarantine",
    multiple=True,
    metavar="DATABASE.TABLE",
    help="Leave out the rows of this table until --release or --replay.",
)
@click.option(
    "--release",
    multiple=True,
    metavar="DATABASE.TABLE",
    help="Deliver the rows of this table again, from the current position.",
)
@click.option(
    "--replay",
    multiple=True,
    metavar="DATABASE.TABLE",
    help="Deliver the rows that were left out, then continue with the table.",
)
@click.option(
    "--snapshot",
    multiple=True,
    metavar="DATABASE.TABLE",
    help="Deliver the rows that this table has now. It is remembered until they are delivered.",
)
@click.option("--where", metavar="SQL", help="With --snapshot: condition of the rows of each table; default: all rows.")
@click.option("--until-current", is_flag=True, help="Stop at the current end of the source's binlog.")
@click.option("--snapshot-only", is_flag=True, help="Deliver the rows that exist, then stop.")
@host_options.host_access("the current directory")
@options.log_format
def command(
    path: Path,
    state: Path | None,
    sink: str | None,
    quarantine: tuple[str, ...],
    release: tuple[str, ...],
    replay: tuple[str, ...],
    snapshot: tuple[str, ...],
    where: str | None,
    until_current: bool,
    snapshot_only: bool,
    log_format: str,
) -> None:
    """Run the task in FILE until Ctrl-C, from the position at which the last run stopped.

    The position and the tables in quarantine are stored in a local SQLite file, one for each task and sink. A run uses
    its own replica id and transactional id: a task of the same name on a bus is not disturbed, and both write their
    rows to the topics. In a terminal a status line shows rows, rows/s, lag and position; in a pipe log lines on stderr
    do. The data path is the same as in a Core. --snapshot delivers the rows that a table has now, and the next run
    continues what is not complete. --snapshot-only exports the rows of the tables to the sink.
    """
    if where is not None and not snapshot:
        raise click.UsageError("--where is a condition of --snapshot")
    log.setup(log_format)
    with loading():
        config = with_addresses(_with_sink(_read(path), sink))
        config = with_snapshot(config) if snapshot_only else config
        access.default_file_sink_directory(Path.cwd())
    store, run = open_state(state, config, chosen=sink is not None)
    server_id = derived(replica_name(run))
    if quarantine or release or replay:
        config.database  # noqa: B018 (raises)
    _ordered(store, quarantine, release, replay)
    orders = with_added_tables(store, config)
    if snapshot:
        orders = order_snapshot(store, config, snapshot, where)
    if snapshot_only:
        check_new(store.load(), orders.snapshots)
    source = build_source(config, server_id)
    mixed = config.sink.type == "stdout" and os.isatty(1)  # a status line would be drawn over records
    live = sys.stderr.isatty() and log_format == "text" and not mixed
    observer = LiveLine(config.name) if live else LogLines(config.name)
    pipeline = build_pipeline(
        config,
        term=Term.unlimited(config.name, uid=store.uid, installation=run),
        store=store,
        observer=observer,
        source=source,
        history=store.history,
        orders=orders,
        server_id=server_id,
        save_interval=min(config.checkpoint_interval_ms / 1000, 1.0),
        snapshot_only=snapshot_only,
    )
    received = _drain_on_signals(pipeline)
    try:
        with observer:
            last = pipeline.run(source.end_position if until_current else None)
    finally:
        store.close()
    if signal.SIGINT in received:
        sys.exit(INTERRUPTED)
    if snapshot_only and not received:
        check_complete(last)


def _read(path: Path) -> TaskConfig:
    try:
        return load_task(path.read_bytes())
    except OSError as error:
        raise ConfigError("E1014", f"{path} can't be read", found=error.strerror or str(error)) from error


def _with_sink(config: TaskConfig, sink: str | None) -> TaskConfig:
    if sink is None:
        return config
    kind, _, where = sink.partition(":")
    if kind == "stdout" and not where:
        replacement: dict[str, object] = {"type": "stdout"}
    elif kind == "file" and where:
        chosen = Path(where).absolute()  # on the command line, by who starts us: allowed for that reason
        os.environ[access.FILE_SINK_DIRECTORY] = str(chosen.parent)
        replacement = {"type": "file", "path": chosen.name}
    else:
        raise click.BadParameter("use 'stdout' or 'file:PATH'", param_hint="--sink")
    data = to_data(config)
    kept = {key: data["sink"][key] for key in Records.model_fields if key in data["sink"]}
    return parse_task({**data, "sink": {**kept, **replacement}})


def _ordered(store: SqliteStore, put: Iterable[str], release: Iterable[str], replay: Iterable[str]) -> TaskOrders:
    """What is ordered of tables, and that is remembered. Raises ConfigError E1003, ProcessError E5007."""
    orders, now = store.orders(), now_ms()
    checkpoint = store.load()
    marks = checkpoint.quarantined if checkpoint else ()
    for table in put:
        orders = quarantine_orders.put(orders, marks, table, now)
    for table in release:
        orders = quarantine_orders.release(orders, marks, table, now)
    for table in replay:
        quarantine_orders.check_name(table)
        asked = quarantine_orders.replay(orders, marks, table, now)
        if asked is None:
            raise ProcessError(
                "E5007",
                f"no rows of {table} have been left out",
                fix="Replay a table only after its rows were left out.",
            )
        orders = asked
    store.order(orders)
    return orders


def _drain_on_signals(pipeline: Pipeline) -> list[int]:
    """First signal: deliver what was read, save, leave; while there is no stream yet, leave at once. Second: undo what
    is not committed and leave. Third: leave whatever happens. Nothing is lost; without exactly_once some is repeated.

    Returns the list that the signals' numbers will be put into.
    """
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        status = INTERRUPTED if number == signal.SIGINT else 0
        if len(received) > 2:
            os._exit(status)
        if len(received) == 2 or not pipeline.streaming:
            # Handlers run in the main thread, which is the one that connects: this ends even a wait for an answer.
            sys.exit(status)
        # Closing a socket may take a lock that the interrupted code holds: never from the handler itself.
        threading.Thread(target=pipeline.drain, name="drain", daemon=True).start()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return received
