from __future__ import annotations

import json
import os

import pytest

from replicator.errors import SinkError
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.stdout import StdoutSink

AT = Position("binlog.000001", 4)


def batch(value: bytes) -> Batch:
    return Batch([("t", b"k", value, b"binlog.000001:4", 0, ())], AT, True)


def test_lines_at_commit() -> None:
    reader, writer = os.pipe()
    sink = StdoutSink(writer)
    sink.open(Term.unlimited("copy"))
    sink.write(batch(b"1"))
    assert sink.acknowledged() is None
    sink.commit(AT)
    assert sink.acknowledged() == AT
    line = json.loads(os.read(reader, 1 << 16))
    assert (line["topic"], line["key"], line["value"], line["offset"]) == ("t", "k", "1", 0)
    os.close(reader)
    os.close(writer)


def test_what_is_not_committed_is_dropped() -> None:
    reader, writer = os.pipe()
    sink = StdoutSink(writer)
    sink.open(Term.unlimited("copy"))
    sink.write(batch(b"1"))
    sink.close()
    sink.open(Term.unlimited("copy"))
    sink.write(batch(b"2"))
    sink.commit(AT)
    os.close(writer)
    with os.fdopen(reader, "rb") as lines:
        assert [json.loads(line)["value"] for line in lines] == ["2"]


def test_a_reader_that_went_away() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    sink = StdoutSink(writer)
    sink.open(Term.unlimited("copy"))
    sink.write(batch(b"1"))
    with pytest.raises(SinkError, match="has closed it") as raised:
        sink.commit(AT)
    assert raised.value.code == "E3201"
    assert sink.acknowledged() is None
    sink.close()
    os.close(writer)
