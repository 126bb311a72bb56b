from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.load import parse_task
from replicator.errors import ConfigError, SinkError
from replicator.model.batch import Record
from replicator.sink.kafka.dead_letters import DeadLetters
from replicator.sink.kafka.names import dead_letter_topic
from replicator.sink.kafka.records import Stamp, encode, size_of
from replicator.sink.kafka.topic import Topic

STAMP = Stamp("copy", 7)
LETTERS = "copy.dead_letter"


def record(key: bytes | None, value: bytes | None, topic: str = "t", row: int = 3) -> Record:
    return topic, key, value, b"uuid:77", row, ()


def instead(*records: Record, most: int = 2000) -> list[Record]:
    letters = DeadLetters(LETTERS, "copy")
    return list(letters.instead(records, STAMP, lambda name: Topic(name, 1, most)))


def test_what_fits_stays_what_it_was_and_where_it_was() -> None:
    small, large = record(b"a", b"1"), record(b"b", b"x" * 3000)
    first, letter, last = instead(small, large, small)
    assert first is small and last is small
    assert letter[:2] == (LETTERS, b"b")
    assert letter[3:] == (b"uuid:77", 3, ())


def test_a_letter_says_where_the_row_is_to_be_had() -> None:
    value = b"x" * 3000
    (letter,) = instead(record(b'{"id":5}', value))
    said = json.loads(letter[2] or b"")
    assert said.pop("reason").startswith("over the 2000 bytes")
    assert said == {
        "v": 1,
        "topic": "t",
        "key": '{"id":5}',
        "position": "uuid:77",
        "row": 3,
        "size": size_of(record(b'{"id":5}', value), STAMP),
        "sha256": hashlib.sha256(value).hexdigest(),
        "claim_check": {"task": "copy", "position": "uuid:77", "row": 3},
    }


def test_keys_that_are_no_text_and_keys_that_are_too_long_themselves() -> None:
    binary, long = instead(record(b"\xff\x00", b"x" * 3000), record(b"k" * 100_000, None))
    assert json.loads(binary[2] or b"")["key_base64"] == base64.b64encode(b"\xff\x00").decode()
    assert long[1] is None
    said = json.loads(long[2] or b"")
    assert (said["key"], said["sha256"]) == ("k" * 65536, None)


def test_letters_are_not_replaced_by_letters() -> None:
    itself = record(b"a", b"x" * 3000, LETTERS)
    assert instead(itself) == [itself]


@given(
    st.none() | st.binary(max_size=300),
    st.none() | st.binary(max_size=3000),
    st.integers(0, 1 << 40),
    st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=200)), max_size=3),
)
def test_whatever_is_let_through_can_be_encoded_anywhere_in_a_batch(
    key: bytes | None, value: bytes | None, row: int, headers: list[tuple[str, bytes]]
) -> None:
    given: Record = ("t", key, value, b"uuid:77", row, tuple(headers))
    most = size_of(given, STAMP)
    in_front = [record(None, None)] * 9000  # their numbers take three bytes
    assert sum(count for count, _ in encode([*in_front, given], STAMP, 1 << 30, most)) == 9001
    with pytest.raises(SinkError, match="too large"):
        list(encode([given], STAMP, 1 << 30, most - 3))  # two of these bytes are the number's, which is 0 here


def test_names() -> None:
    assert dead_letter_topic("{task}.dead_letter", "Zürich 1") == "Z_rich_1.dead_letter"
    with pytest.raises(ConfigError, match="E1007"):
        dead_letter_topic("x" * 200 + "{task}", "t" * 60)


def test_one_topic_for_the_whole_task() -> None:
    source = {"type": "mysql", "user": "u", "password": "env:P"}
    sink = {"type": "kafka", "bootstrap_servers": ["b:1"], "dead_letter_topic": "{table}.late"}
    with pytest.raises(ConfigError, match="one such topic"):
        parse_task({"name": "t", "source": source, "sink": sink})
