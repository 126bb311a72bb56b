"""Checks of a target server against the tables of the source, as transforms leave them."""

from __future__ import annotations

from collections.abc import Sequence

from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.task import TaskConfig
from replicator.decode.binlog.virtual_columns import OMITTED, marked
from replicator.encode.row_images import target_table
from replicator.errors import ConfigError, ReplicatorError
from replicator.model.finding import Finding
from replicator.model.table import Column, Declared, Table
from replicator.model.target_table import Shard
from replicator.mysql import table_facts, table_shape
from replicator.mysql.hosts import candidates
from replicator.mysql.server import Server, read_server
from replicator.mysql.session import Session
from replicator.mysql.table_facts import ColumnFacts, Name, TableFacts
from replicator.sink.mysql.checks import ExpectedColumn, ExpectedTable, SourceFacts, check
from replicator.sink.mysql.target_definition import read_generated
from replicator.transform.chain import Chain
from replicator.transform.routes import TEXT_BYTES
from replicator.transform.view import View

_CASCADES_LOGGED = "OFF"
"""Of innodb_native_foreign_keys: MySQL 9.6 and later then execute foreign keys above the engine and log the rows."""


def check_target(config: TaskConfig, sink: MySQLSink, names: Sequence[Name]) -> list[Finding]:
    """`names`: of the tables at the source."""
    try:
        password = resolve(sink.password)
    except ConfigError as error:
        return [Finding.of_error("sink.password", error)]
    return check(sink, password, source_facts(config, names))


def source_facts(config: TaskConfig, names: Sequence[Name]) -> SourceFacts:
    """`tables` None where no server of the source answers."""
    mariadb = config.source.type == "mariadb"
    for member in candidates(config.database):
        try:
            with Session(member, resolve(config.database.password)) as session:
                return _read(session, read_server(session), config, names)
        except ReplicatorError:
            continue
    return SourceFacts(None, mariadb)


def _read(session: Session, server: Server, config: TaskConfig, names: Sequence[Name]) -> SourceFacts:
    chain, tables = Chain(config.transforms), table_facts.read(session, names)
    views = {name: _view(chain, source_table(session, server, facts)) for name, facts in tables.items()}
    targets = {name: view.table for name, view in views.items()}
    shards = {name: _shard(chain, view, Table(*name, ())) for name, view in views.items()}
    expected = [_expected(views[name], facts, targets, shards[name]) for name, facts in tables.items()]
    packet = int(session.value("SELECT @@GLOBAL.max_allowed_packet") or 0)
    logged = server.get("innodb_native_foreign_keys") == _CASCADES_LOGGED
    return SourceFacts(tuple(expected), server.mariadb, logged, packet)


def source_table(session: Session, server: Server, facts: TableFacts) -> Table:
    """As the events of the source describe it."""
    shape = table_shape.read(session, server, facts.database, facts.name)
    some = any(column.generated for column in facts.columns)
    generated = read_generated(session, facts.database, facts.name) if some else frozenset[str]()
    columns = tuple(
        Column(
            index,
            one.name,
            one.type,
            one.meta,
            one.nullable,
            one.unsigned,
            one.collation,
            one.texts,
            one.geometry,
            one.visible,
            one.dimensions,
            Declared("", generated="VIRTUAL" if one.name.lower() in generated else ""),
        )
        for index, one in enumerate(shape.columns)
    )
    places = {column.name.lower(): column.index for column in columns}
    key = tuple(places[name] for name in facts.primary_key if name in places)
    table = Table(facts.database, facts.name, columns, key, server.mariadb)
    return marked(table) if server.mariadb and server.version >= OMITTED else table


def _view(chain: Chain, table: Table) -> View:
    """A table that rules do not fit is as it is: `transform_checks` tells of it."""
    try:
        return chain.view(table)
    except ReplicatorError:
        return View.of(table)


def _shard(chain: Chain, view: View, source: Table) -> Shard | None:
    """None also where the rules do not fit the table."""
    try:
        shard = chain.shard(source)
    except ReplicatorError:
        return None
    there = {column.name for column in view.table.columns}
    return shard if shard is None or there.issuperset(shard.columns) else None


def _expected(view: View, facts: TableFacts, targets: dict[Name, Table], shard: Shard | None) -> ExpectedTable:
    names = {
        facts.columns[origin.column].name.lower(): column.name.lower()
        for column, origin in zip(view.table.columns, view.origins, strict=True)
        if origin.constant is None
    }
    columns = tuple(
        ExpectedColumn(
            column.name,
            facts.columns[origin.column] if origin.constant is None else _added(column.name),
            origin.constant is not None or origin.mask is not None or origin.nothing,
        )
        for column, origin in zip(view.table.columns, view.origins, strict=True)
    )
    uniques = tuple(key for known in facts.uniques.values() if (key := _key(known, names)))
    parents = [key.parent for key in facts.foreign_keys if key.cascades and key.parent in targets]
    return ExpectedTable(
        (view.table.database, view.table.name),
        facts.qualified,
        columns,
        target_table(view.table, facts.qualified, shard),
        _key(facts.primary_key, names),
        uniques,
        tuple((targets[parent].database, targets[parent].name) for parent in parents),
    )


def _added(name: str) -> ColumnFacts:
    """Of a column with a constant."""
    bytes_ = TEXT_BYTES
    size = str(bytes_ // 4)
    kind = f"varchar({size})"
    return ColumnFacts(name, kind, "varchar", (size,), False, False, False, False, "utf8mb4", "utf8mb4_bin", bytes_)


def _key(key: Sequence[str], names: dict[str, str]) -> tuple[str, ...]:
    """Under its names at the target; empty when a column is excluded. Parts of columns and expressions stay."""
    if any("(" not in part and part not in names for part in key):
        return ()
    return tuple(names.get(part, part) for part in key)
