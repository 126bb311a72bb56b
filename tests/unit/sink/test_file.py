from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dev.faults.small_disk import SmallDisk
from replicator.config.task import FileSink as FileConfig
from replicator.errors import SinkError, SinkFenced, SinkUnavailable
from replicator.model.batch import Batch, Record
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.file import FileSink

Open = Callable[[Path], FileSink]
TERM = Term.unlimited("copy")


def batch(offset: int, *values: bytes | None, topic: str = "shop.t", key: bytes | None = b'{"id":1}') -> Batch:
    at = b"binlog.000001:%d" % offset
    records: list[Record] = [(topic, key, value, at, row, ()) for row, value in enumerate(values)]
    return Batch(records, Position("binlog.000001", offset), True)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@pytest.fixture
def opened() -> Iterator[Callable[[Path], FileSink]]:
    """Opens sinks and closes them at the end."""
    made: list[FileSink] = []

    def open_one(path: Path) -> FileSink:
        made.append(FileSink(FileConfig(type="file", path=str(path)), path.parent))
        made[-1].open(TERM)
        return made[-1]

    yield open_one
    for sink in made:
        sink.close()


def put(sink: FileSink, given: Batch) -> None:
    sink.write(given)
    sink.commit(given.position)


def test_the_form_of_a_line(opened: Open, path: Path) -> None:
    sink = opened(path)
    record: Record = ("shop.t", b'{"id":1}', '{"n":"ü"}'.encode(), b"uuid:7", 2, (("kind", b"\xff"),))
    put(sink, Batch([record], Position("binlog.000001", 4), True))
    (line,) = lines(path)
    assert line.pop("timestamp") > 1_700_000_000_000
    assert line == {
        "topic": "shop.t",
        "partition": 0,
        "offset": 0,
        "key": '{"id":1}',
        "value": '{"n":"ü"}',
        "headers": [
            {"key": "kind", "value_base64": "/w=="},
            {"key": "task", "value": "copy"},
            {"key": "epoch", "value": "0"},
            {"key": "position", "value": "uuid:7"},
            {"key": "row", "value": "2"},
        ],
    }


def test_null_and_binary(opened: Open, path: Path) -> None:
    sink = opened(path)
    put(sink, batch(4, None, b"\xff\x00", key=None))
    tombstone, binary = lines(path)
    assert tombstone["key"] is None
    assert tombstone["value"] is None
    assert binary["value_base64"] == "/wA="
    assert "value" not in binary


def test_offsets_continue_per_topic(opened: Open, path: Path) -> None:
    sink = opened(path)
    put(sink, batch(4, b"1", b"2"))
    put(sink, batch(5, b"3", topic="other"))
    sink.close()
    again = opened(path)
    put(again, batch(6, b"4"))
    assert [(line["topic"], line["offset"]) for line in lines(path)] == [
        ("shop.t", 0),
        ("shop.t", 1),
        ("other", 0),
        ("shop.t", 2),
    ]


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param(b'{"topic":"shop', id="torn"),
        pytest.param(b'{"to', id="torn early"),
        pytest.param(b'{"topic":"' + b"x" * 200_000, id="torn and long"),
        pytest.param(b"\0" * 4096, id="never written to disk"),
        pytest.param(b'{"topic":"shop.t","offset":1,"va' + b"\0" * 900, id="half written to disk"),
    ],
)
def test_a_torn_line_is_cut(opened: Open, path: Path, torn: bytes) -> None:
    sink = opened(path)
    put(sink, batch(4, b"1"))
    sink.close()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    again = opened(path)
    assert path.read_bytes() == whole
    put(again, batch(5, b"2"))
    assert [line["value"] for line in lines(path)] == ["1", "2"]


def test_what_is_not_committed_is_taken_back(opened: Open, path: Path) -> None:
    sink = opened(path)
    put(sink, batch(4, b"1"))
    sink.write(batch(5, b"2"))
    assert sink.acknowledged() == Position("binlog.000001", 4)
    sink.close()
    assert [line["value"] for line in lines(path)] == ["1"]
    again = opened(path)
    put(again, batch(5, b"2"))
    assert [line["offset"] for line in lines(path)] == [0, 1]


def test_one_writer_at_a_time(opened: Open, path: Path) -> None:
    first = opened(path)
    with pytest.raises(SinkUnavailable, match="another process"):
        opened(path)
    first.close()
    opened(path).close()


def test_not_writable(opened: Open, tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "out", tmp_path):
        with pytest.raises(SinkError) as raised:
            opened(path)
        assert raised.value.code in ("E3201", "E3202")


def test_a_full_disk_is_an_error_with_the_path(opened: Open, path: Path) -> None:
    """A limit on the file's size stands for the full disk: the kernel refuses the write in the same way."""
    sink = opened(path)
    put(sink, batch(4, b"1"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, limits[1]))
    try:
        with pytest.raises(SinkError, match="too large") as raised:
            sink.write(batch(5, b"x" * 1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(path) in str(raised.value)
    sink.close()
    assert [line["value"] for line in lines(path)] == ["1"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root")
def test_a_disk_without_room(opened: Open, tmp_path: Path) -> None:
    """Nothing of the batch stays, what was committed does, and it goes on when there is room."""
    with SmallDisk(tmp_path / "small", 32 << 10) as disk:
        path = disk.folder / "out.jsonl"
        sink = opened(path)
        put(sink, batch(4, b"1"))
        disk.fill()
        with pytest.raises(SinkError, match="No space left on device") as raised:
            put(sink, batch(5, b"x" * 8000))
        assert raised.value.code == "E3201" and str(path) in str(raised.value)
        sink.close()
        assert [line["value"] for line in lines(path)] == ["1"]
        with pytest.raises(SinkError, match="No space left on device"):  # the mark of a commit
            small = opened(path)
            put(small, batch(5, b"2"))
        small.close()
        assert [line["value"] for line in lines(path)] == ["1"]
        disk.empty()
        again = opened(path)
        assert again.acknowledged() == Position("binlog.000001", 4)
        put(again, batch(5, b"2"))
        again.close()
        assert [line["value"] for line in lines(path)] == ["1", "2"]


def test_durable_before_acknowledged(opened: Open, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = opened(path)
    seen: list[Position | None] = []
    real = os.fsync

    def noted(descriptor: int) -> None:
        seen.append(sink.acknowledged())
        real(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    put(sink, batch(4, b"1"))
    assert set(seen) == {None}
    assert len(seen) == 3, "the data, the mark, and the folder that holds it"
    put(sink, batch(5))
    assert len(seen) == 3, "a commit without rows costs no fsync of its own"
    sink.flush(1)
    assert sink.acknowledged() == Position("binlog.000001", 5)


def test_after_a_crash_uncommitted_lines_are_cut_and_the_position_is_held(opened: Open, path: Path) -> None:
    sink = opened(path)
    put(sink, batch(4, b"1"))
    committed = path.read_bytes()
    sink.close()
    path.write_bytes(committed + committed + b'{"topic":"to')  # what a killed process had written after its last commit
    again = FileSink(FileConfig(type="file", path=str(path)), path.parent)
    assert again.open(TERM) == Position("binlog.000001", 4)
    assert path.read_bytes() == committed
    assert again.acknowledged() == Position("binlog.000001", 4)
    put(again, batch(5, b"2"))
    again.close()
    assert [(line["value"], line["offset"]) for line in lines(path)] == [("1", 0), ("2", 1)]


def test_a_file_that_lost_committed_lines_is_refused(opened: Open, path: Path) -> None:
    sink = opened(path)
    put(sink, batch(4, b"1"))
    sink.close()
    path.write_bytes(b"")
    with pytest.raises(SinkError, match="shorter than its committed size"):
        opened(path)


def test_a_later_term_fences_at_the_file_too(opened: Open, path: Path) -> None:
    late = FileSink(FileConfig(type="file", path=str(path)), path.parent)
    late.open(Term("copy", "", 9, lambda: float("inf")))
    put(late, batch(4, b"1"))
    late.close()
    with pytest.raises(SinkFenced):
        opened(path)
