"""Builds the pipeline of a task from its configuration."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Final, Literal

from replicator.assembly import topics
from replicator.assembly.catalogs import build_catalog
from replicator.assembly.filled_tables import filled_tables
from replicator.assembly.planners import Planners
from replicator.assembly.shard_owners import ShardOwners
from replicator.assembly.snapshots import Snapshots
from replicator.assembly.target_tables import SourceTables
from replicator.assembly.value_texts import value_text
from replicator.config.kafka_source import KafkaSource
from replicator.config.mysql_sink import MySQLSink
from replicator.config.numbering import follows_events, rule
from replicator.config.secrets import resolve
from replicator.config.tables import TableFilter
from replicator.config.task import EndPosition, KafkaSink, TaskConfig
from replicator.decode.native.compiled_decoder import decoder_class
from replicator.decode.plan.compiler import Renderer
from replicator.decode.renderers import rendering
from replicator.decode.transactions.loop_guard import LoopGuard
from replicator.errors import ConfigError
from replicator.model.position import Position
from replicator.model.quarantine import TaskOrders
from replicator.model.replica_id import derived
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders
from replicator.model.target_table import TargetTables
from replicator.model.term import Term
from replicator.pipeline.observer import Observer
from replicator.pipeline.pipeline import Pipeline
from replicator.pipeline.ports import (
    Catalog,
    CheckpointStore,
    Decoder,
    HistoryStore,
    Sink,
    SnapshotSource,
    Source,
    Stream,
)
from replicator.pipeline.quarantine import Quarantine
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.sink import open_sink
from replicator.source import open_source
from replicator.transform.chain import Chain
from replicator.transform.select import select

SHORTEST_KEY: Final = 16
"""Bytes of a key for hashes."""


def build_rendering(config: TaskConfig) -> Renderer:
    """The renderers, with the keys that masks need. These stand nowhere else: plans name them by reference.

    Raises ConfigError E1006 for a key that can't be had or is too short to be one.
    """
    references = Chain(config.transforms).keys
    keys = {reference: _mask_key(reference, where) for reference, where in references.items()}
    return partial(rendering, keys=keys) if keys else rendering


def _mask_key(reference: str, where: str) -> bytes:
    try:
        key = resolve(reference).encode()
    except ConfigError as error:
        fields = error.to_dict()
        raise ConfigError(fields.pop("code"), f"{where}: {fields.pop('what')}", **fields) from error
    if len(key) < SHORTEST_KEY:
        wanted = f"{SHORTEST_KEY} bytes or more, to prevent guessing"
        fix = f"Give the key {SHORTEST_KEY} bytes or more, on every host whose Core may run the task."
        raise ConfigError("E1006", f"{where}: the key {reference} is too short", wanted=wanted, fix=fix)
    return key


def build_source(config: TaskConfig, server_id: int | None = None) -> Source:
    """Secrets are resolved here, as late as possible, and kept nowhere."""
    if isinstance(config.source, KafkaSource):
        return topics.open_source(config.source)
    return open_source(config, resolve(config.database.password), server_id, statements=config.sink.statements)


def build_sink(config: TaskConfig, installation: str = "", tables: TargetTables | None = None) -> Sink:
    """`installation`: id that is part of the names of what the sink keeps for itself. `tables`: shared with the
    task's pipeline."""
    creates = isinstance(config.sink, MySQLSink) and config.sink.create_tables
    source_tables = SourceTables(config) if creates else None
    filled = partial(filled_tables, config)
    converge = isinstance(config.source, KafkaSource)
    owners = None if converge else ShardOwners(config)
    return open_sink(
        config.sink,
        config.name,
        installation,
        tables,
        source_tables,
        value_text,
        filled,
        owners,
        converge=converge,
        merges=any(rule.keys == "disjoint" for rule in config.transforms.rename),
    )


def _beside(config: TaskConfig, server_id: int | None) -> Callable[[Position], Stream]:
    """Opens a second stream of the source. It is another replica to the server, which has room for one of each id."""

    def open_stream(position: Position) -> Stream:
        return build_source(config, derived(f"{config.name}/{server_id or ''}/beside")).open(position)

    return open_stream


def _place(given: EndPosition | None) -> Position | None:
    return Position(given.file, given.position, given.gtid) if given is not None else None


def _loop_guard(config: TaskConfig) -> LoopGuard | None:
    skipped = config.database.skip_replicated
    if skipped == "none":
        return None
    return LoopGuard(None if skipped == "all" else skipped)


def _row_image(config: TaskConfig) -> Literal["require_full", "accept_partial"]:
    """A database sink's plans refuse images that lack what they copy, and copy no generated columns where the server
    leaves them out."""
    return "accept_partial" if isinstance(config.sink, MySQLSink) else config.source.row_image


def build_pipeline(
    config: TaskConfig,
    *,
    term: Term,
    store: CheckpointStore,
    observer: Observer,
    source: Source | None = None,
    sink: Sink | None = None,
    reread: Callable[[Position], Stream] | None = None,
    history: HistoryStore | None = None,
    orders: TaskOrders | None = None,
    server_id: int | None = None,
    save_interval: float = 1.0,
    snapshot_source: SnapshotSource | None = None,
    snapshot_only: bool = False,
    tables: TargetTables | None = None,
) -> Pipeline:
    """Connects nothing yet. `source`, `sink`, `snapshot_source` and `reread` (see `BinlogDecoder`): instead of the
    configured ones. `snapshot_only`: it ends when the snapshot has.
    `history`: where the schema history is kept; None: without one. `orders`: of operators.
    `server_id`: our replica id, where it is not the one that the configuration gives. `tables`: see `build_sink`.

    Raises ConfigError for a secret or a template that can't be used.
    """
    if isinstance(config.source, KafkaSource):
        return topics.build_pipeline(
            config,
            config.source,
            lambda known: build_sink(config, term.installation, known),
            tables,
            source=source,
            sink=sink,
            store=store,
            term=term,
            observer=observer,
            save_interval=save_interval,
        )
    planners = Planners(config, tables)
    source_config, by_error = config.database, config.database.on_table_error == "quarantine"
    quarantine = Quarantine(orders, by_error=by_error)
    stopping = threading.Event()
    make_catalog = build_catalog(config, history, stopping=stopping.is_set) if history is not None else None
    renderers = build_rendering(config)
    repeats = isinstance(config.sink, KafkaSink) and config.sink.delivery == "at_least_once"

    catalog: Catalog | None = None  # of the last decoder

    def selection_now() -> TableFilter:
        return source_config.selection(quarantine.tables - {quarantine.only})

    def make_decoder(stream: Stream) -> Decoder:
        left_out = quarantine.tables - {quarantine.only}
        nonlocal catalog
        selection = TableFilter((quarantine.only,)) if quarantine.only else selection_now()
        catalog = make_catalog(stream.position, left_out) if make_catalog is not None else None
        return decoder_class()(
            select(selection.matches, planners.stream),
            position=stream.position,
            flavor=source_config.type,
            framing=stream.framing,
            server_error=stream.server_error,
            narrator=planners.narrator,
            catalog=catalog,
            selection=selection,
            row_image=_row_image(config),
            rule=rule(config, left_out, quarantine.only),
            repeats=repeats,
            follows_events=follows_events(config),
            reread=reread or _beside(config, server_id),
            guard=_loop_guard(config),
            rendering=renderers,
        )

    asked = orders.snapshots if orders is not None else SnapshotOrders()
    snapshots = Snapshots(config, planners, renderers, selection_now, snapshot_source, asked)

    def open_snapshot(progress: SnapshotProgress, stream: Stream, decoder: Decoder) -> SnapshotSession:
        return snapshots.open(progress, stream, decoder, catalog)

    return Pipeline(
        source=source or build_source(config, server_id),
        make_decoder=make_decoder,
        sink=sink or build_sink(config, term.installation, planners.tables),
        store=store,
        term=term,
        observer=observer,
        max_batch_bytes=config.commit_bytes,
        save_interval=save_interval,
        quarantine=quarantine,
        until=_place(source_config.until),
        snapshot=open_snapshot,
        snapshot_first=source_config.snapshots.first,
        snapshot_again=source_config.snapshots.mode == "when_needed",
        snapshot_orders=asked,
        snapshot_only=snapshot_only,
        stopping=stopping,
        start_given=source_config.start != "latest",
        max_transaction_bytes=config.max_transaction_bytes,
        split_transactions=repeats,
    )
