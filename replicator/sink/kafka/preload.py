"""Preloads, before workers are forked, what each of them would build once: msgspec's encoders and decoders of our
records."""

from __future__ import annotations

from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.kafka import partition_counts, position


def build_codecs() -> None:
    """Writes and reads one record of each kind."""
    position.load(position.dump(Term.unlimited(""), Position("", 4)), "")
    partition_counts.load(partition_counts.dump("", 1), "")
