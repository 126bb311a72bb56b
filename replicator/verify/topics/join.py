"""Compares the rows of a source with the states of topics, part by part of their keys. No server is involved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from replicator.model.decoding import msgpack_decoder
from replicator.verify.compare import KeyValue
from replicator.verify.topics.ports import SourceRow, TopicTable
from replicator.verify.topics.spill import MOST_BYTES, PARTS, Spill
from replicator.verify.topics.states import State, TopicStates

MOST_SUSPECTS: Final = 200_000
"""Of all tables: about 200 MB."""


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    """A row of the source. `digests`: one for each layout of the table that was known when it was read."""

    table: int
    key: KeyValue
    digests: tuple[bytes, ...]


class Suspect(msgspec.Struct):
    """A row that differs. `key`: of the source; None: not known. `state`: of the topic; None: no record."""

    table: int
    key: KeyValue | None
    state: State | None


class Counts(msgspec.Struct):
    """
    Attributes:
        rows: of the source that were compared.
        unrecorded: without a record.
        elsewhere: that differ, and have records in several partitions.
        unreadable: only in the topic, with a key that can't be looked up.
        suspects: that differ.
        cut: there are more suspects.
    """

    rows: int = 0
    unrecorded: int = 0
    elsewhere: int = 0
    unreadable: int = 0
    suspects: int = 0
    cut: bool = False


class SourceStates:
    """Hashes of the rows of the source."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._spill = Spill(most_bytes=most_bytes)
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgpack_decoder(_Entry)

    def add(self, table: TopicTable, row: SourceRow) -> None:
        """Raises OSError."""
        columns = table.columns
        identity = columns.identity(row.values)
        if identity is None:
            raise ValueError(f"a row of {table.wanted.table} without its key")
        if not columns.layouts:
            columns.layout(row.values)
        digests = tuple(columns.digest(row.values, layout) for layout in range(columns.layouts))
        self._spill.put(identity, self._encoder.encode(_Entry(columns.number, row.key, digests)))

    def part(self, number: int) -> dict[bytes, _Entry]:
        return {key: self._decoder.decode(raw) for key, raw in self._spill.part(number).items()}

    def close(self) -> None:
        self._spill.close()


class Joined(msgspec.Struct):
    """`counts`: by table."""

    counts: dict[int, Counts]
    suspects: dict[bytes, Suspect]


def join(source: SourceStates, topics: TopicStates, tables: Mapping[int, TopicTable], most: int) -> Joined:
    """`most`: suspects of one table. Raises OSError."""
    made = Joined({number: Counts() for number in tables}, {})
    for number in range(PARTS):
        states = topics.part(number)
        for key, entry in source.part(number).items():
            table, counts = tables.get(entry.table), made.counts.get(entry.table)
            if table is None or counts is None:
                continue
            state = states.pop(key, None)
            if state is None and not table.complete:
                counts.unrecorded += 1
                continue
            counts.rows += 1
            if state is None or not _equal(entry, state):
                _suspect(made, counts, key, Suspect(entry.table, entry.key, state), most)
        for key, state in states.items():
            found = made.counts.get(state.table)
            if found is not None and state.present:
                _suspect(made, found, key, Suspect(state.table, None, state), most)
    return made


def _equal(entry: _Entry, state: State) -> bool:
    return state.present and state.layout < len(entry.digests) and entry.digests[state.layout] == state.digest


def _suspect(made: Joined, counts: Counts, key: bytes, suspect: Suspect, most: int) -> None:
    if suspect.state is not None and suspect.state.elsewhere:
        counts.elsewhere += 1
    elif counts.suspects >= most or len(made.suspects) >= MOST_SUSPECTS:
        counts.cut = True
    else:
        counts.suspects += 1
        made.suspects[key] = suspect
