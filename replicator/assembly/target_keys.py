"""Rows of the target with given keys, and row images of their keys, for `verify --repair`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replicator.assembly.changed_keys import Changes
from replicator.decode.binlog import table_map as table_maps
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.errors import ProcessError
from replicator.model.position import Position
from replicator.model.snapshot import RowImages
from replicator.mysql import table_map
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.row_images.row_image import RowImages as ImageMaker
from replicator.mysql.statement_text import Text
from replicator.mysql.table_shape import TableShape
from replicator.pipeline.ports import Chunk
from replicator.sink.mysql.fenced_repair import FencedRepair
from replicator.verify.compare import Comparison, KeyValue, Row
from replicator.verify.ordered import any_of
from replicator.verify.side import Side
from replicator.verify.table_pair import ReadTable, TablePair

_ID = 6
"""Bytes of the table id, which a table map begins with."""
_NOWHERE = Position("", 4)


class TargetKeys:
    """Of one table. `mariadb`: the source is one.

    Raises ProcessError E5042: its rows can't be found by the key that both sides have.
    """

    def __init__(self, target: Side, pair: TablePair, *, mariadb: bool) -> None:
        shape = pair.target.shape
        found = target.describe(shape.database, shape.name)
        names = [shape.columns[index].name for index in pair.target.key.columns] if pair.target.key else []
        primary = {found.shape.columns[index].name for index, _ in found.shape.primary_key} if found else set()
        whole = {*names, *pair.constants}
        other = primary != whole if pair.constants or primary else False
        if found is None or pair.source.key is None or not pair.ordered or other:
            raise ProcessError(
                "E5042",
                f"rows of {shape.database}.{shape.name} can't be repaired",
                found=f"compared by {', '.join(names) or 'hashes'}; primary key of the target: "
                + (", ".join(sorted(primary)) or "none"),
                wanted="a primary key with the same order at both sides",
            )
        self._target, self._pair, self._mariadb = target, pair, target.server.mariadb
        self._source_mariadb = mariadb
        self._columns = table_maps.parse(
            table_map.body(found.shape, 0, mariadb=self._mariadb)[_ID:], mariadb=self._mariadb
        ).table.columns
        self._places = sorted(index for index, column in enumerate(found.shape.columns) if column.name in whole)
        self._shape = _only(found.shape, self._places)
        self._key_shape = _only(found.shape, [at for at in self._places if found.shape.columns[at].name in names])
        self._images: dict[KeyValue, bytes] = {}
        self._key_images = self._images
        self.comparison = Comparison(pair.source.key.columns, pair.documents)

    def read(self, keys: Sequence[KeyValue]) -> list[Row]:
        """The rows with these keys that are of this table of the source, and others that a collation finds equal."""
        table, key = self._pair.target, self._pair.target.key
        condition = f" WHERE ({any_of(table, keys)})"
        condition += f" AND ({self._pair.target_where})" if self._pair.target_where else ""
        condition += " ORDER BY " + ", ".join(self._order())
        with self._target.one_view():
            selected = self._target.read(table, table.shape.select + condition, self._pair.integers)
            rows = [selected.parse(packet) for packets in selected.packets() for packet in packets]
            made = self._made(self._shape, condition)
            bare = self._made(self._key_shape, condition) if self._pair.constants else made
        if not len(made) == len(bare) == len(rows) or key is None:
            raise ProcessError(
                "E5042",
                f"rows of {self._shape.name} at the target change during the repair",
                fix="Run `replicator verify --repair` again while nothing else writes to the table at the target.",
            )
        found = [self.comparison.key(row) for row in rows]
        self._images = dict(zip(found, made, strict=True))
        self._key_images = dict(zip(found, bare, strict=True))
        return rows

    def _made(self, shape: TableShape, condition: str) -> list[bytes]:
        selected = self._target.read(ReadTable(shape, None), shape.select + condition, ())
        maker = ImageMaker(shape.columns, selected.types, mariadb=self._mariadb)
        return [maker.image(packet) for packets in selected.packets() for packet in packets]

    def changed(self, decoder: ChunkDecoder, changes: Changes) -> set[KeyValue]:
        """Keys of the rows of the last `read` that the source has changed. All, where the two sides have other types
        for the key, so that its bytes do not tell."""
        source = {column.name: column for column in self._pair.source.shape.columns}
        names = self._source_names()
        pairs = [(source[name], mine) for name, mine in zip(names, self._key_shape.columns, strict=True)]
        if any((a.type, a.meta, a.charset, a.members) != (b.type, b.meta, b.charset, b.members) for a, b in pairs):
            return set(self._key_images)
        columns = tuple(msgspec.structs.replace(b, name=a.name) for a, b in pairs)
        body = table_map.body(
            msgspec.structs.replace(self._key_shape, columns=columns), 0, mariadb=self._source_mariadb
        )
        ends, data = list[int](), b""
        for image in self._key_images.values():
            data += image
            ends.append(len(data))
        chunk = Chunk(body, RowImages(data, ends), _NOWHERE, None, final=True, time_s=0)
        noted = decoder.keys(chunk, self._pair.key)
        return {key for key, bytes_ in zip(self._key_images, noted, strict=True) if bytes_ in changes.keys}

    def deletion(self, keys: Sequence[KeyValue], fence: FencedRepair) -> list[Text]:
        """The statements that delete rows of the last `read`."""
        return fence.deletion(self._shape, self._columns, self._places, [self._images[key] for key in keys])

    def _order(self) -> list[str]:
        return [quote_identifier(column.name) for column in self._shape.columns]

    def _source_names(self) -> list[str]:
        """Of the key's columns at the source, in the order of the target's."""
        pair = self._pair
        named = {
            its.name: mine.name for mine, its in zip(pair.source.shape.columns, pair.target.shape.columns, strict=True)
        }
        return [named[column.name] for column in self._key_shape.columns]


def _only(shape: TableShape, places: Sequence[int]) -> TableShape:
    return msgspec.structs.replace(shape, columns=tuple(shape.columns[index] for index in places), primary_key=())
