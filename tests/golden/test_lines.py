"""The file sink's lines have the form of the captured ones."""

from __future__ import annotations

import json

from tests.golden.compare import Variation
from tests.golden.recording import Recordings

NAMES = ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]


def test_the_form_of_a_line(recordings: Recordings) -> None:
    debezium = Variation("lines", "lines", "", "compressed.sql", {"format": "debezium"})
    offsets: dict[str, int] = {}
    for text in recordings.lines(debezium).read_text().splitlines():
        line = json.loads(text)
        assert list(line) == NAMES
        assert all(list(header) == ["key", "value"] for header in line["headers"])
        assert line["partition"] == 0
        assert line["offset"] == offsets.get(line["topic"], 0)
        assert isinstance(line["timestamp"], int)
        assert isinstance(line["key"], str)
        assert line["value"] is None or isinstance(line["value"], str)
        offsets[line["topic"]] = line["offset"] + 1
    assert len(offsets) > 2


def test_what_is_not_text_is_base64(recordings: Recordings) -> None:
    options = {"format": "canal", "canal": {"flat_message": False}}
    protobuf = Variation("lines, protobuf", "lines", "", "compressed.sql", options)
    lines = [json.loads(text) for text in recordings.lines(protobuf).read_text().splitlines()]
    assert {tuple(line) for line in lines} <= {tuple(NAMES), (*NAMES[:5], "value_base64", "headers")}
    assert any("value_base64" in line for line in lines)
