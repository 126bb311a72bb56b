"""How much of the source's log a task has still to deliver."""

from __future__ import annotations

import pytest

from replicator.model.behind import Behind, behind, nothing
from replicator.model.position import Position
from replicator.model.topic_offsets import TopicOffsets

U = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
V = "4e11fa47-71ca-11e1-9e33-c80aa9429562"


def topics(*offsets: int) -> Position:
    return Position.of_topics((TopicOffsets("shop.item", offsets),))


@pytest.mark.parametrize(
    ("delivered", "end", "sizes", "bytes_"),
    [
        (Position("b.000001", 100), Position("b.000001", 400), {}, 300),
        (Position("b.000001", 400), Position("b.000001", 100), {}, 0),
        (Position("b.000001", 100), Position("b.000002", 40), {"b.000001": 1000}, 940),
        (Position("b.000001", 100), Position("b.000003", 40), {"b.000001": 1000, "b.000002": 500}, 1440),
        (Position("b.000001", 100), Position("b.000003", 40), {"b.000001": 1000}, None),
        (Position("b.000001", 100), Position("b.000003", 40), {}, None),
        (Position("b.000003", 100), Position("b.000002", 40), {}, 0),
        (Position("a.000001", 100), Position("b.000002", 40), {"a.000001": 1, "b.000001": 1000}, None),
        (Position("b.999999", 100), Position("b.1000000", 40), {"b.999999": 1000}, 940),
    ],
)
def test_bytes(delivered: Position, end: Position, sizes: dict[str, int], bytes_: int | None) -> None:
    assert behind(delivered, end, sizes).bytes == bytes_


def test_files_of_another_server_say_nothing_and_gtids_do() -> None:
    delivered, end = Position("b.1", 4, f"{U}:1-5"), Position("b.9", 4, f"{U}:1-9,{V}:1-3")
    assert behind(delivered, end, {}, same_server=False) == Behind(None, 7)


@pytest.mark.parametrize(
    ("delivered", "end", "count"),
    [
        (f"{U}:1-5", f"{U}:1-5", 0),
        (f"{U}:1-5:8", f"{U}:1-9", 3),
        (f"{U}:1-9", f"{U}:1-5", 0),
        ("0-1-100", "0-1-130,1-2-5", 35),
        ("0-1-100,7-1-3", "0-2-100", 0),
        ("", f"{U}:1-5", None),
        (f"{U}:1-5", "", None),
        (f"{U}:1-5", "0-1-3", None),
        ("what:is:this", f"{U}:1-5", None),
    ],
)
def test_transactions(delivered: str, end: str, count: int | None) -> None:
    assert behind(Position("b.1", 4, delivered), Position("b.1", 4, end), {}).transactions == count


def test_records_of_topics() -> None:
    assert behind(topics(5, 7), topics(6, 10), {}) == Behind(None, 4)
    assert behind(topics(5, 7), topics(6), {}).bytes is None
    assert behind(topics(5), Position("b.1", 4), {}) == Behind()


def test_nothing() -> None:
    assert nothing(Position("b.1", 4)) == Behind(0, None)
    assert nothing(Position("b.1", 4, f"{U}:1")) == Behind(0, 0)
    assert nothing(topics(5)) == Behind(None, 0)
