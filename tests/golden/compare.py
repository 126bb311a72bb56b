"""Records side by side: equal to the byte, but for what changes from run to run and what a rule explains."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
MASKED = re.compile(r'"(?:ts_ms|ts_us|ts_ns|server_id|pos|thread)":(?:\d+|null)|"(?:gtid|file|name)":"[^"]*"(?=[,}])')
_DECODER = json.JSONDecoder()


class Record(msgspec.Struct, frozen=True):
    """headers: of key updates only."""

    topic: str
    key: str | None
    value: str | None
    headers: tuple[tuple[str, str], ...] = ()


def load(name: str) -> dict[str, list[Record]]:
    """The records of a golden file by topic, in order."""
    with gzip.open(HERE / name, "rb") as lines:
        return by_topic(msgspec.json.decode(line, type=Record) for line in lines)


def by_topic(records: Iterable[Record]) -> dict[str, list[Record]]:
    topics: dict[str, list[Record]] = {}
    for record in records:
        topics.setdefault(record.topic, []).append(record)
    return topics


def masked(value: str) -> str:
    """The envelope with the values that differ in every run taken out. The images are not touched."""
    at = value.index(',"source":{"version"')
    return value[:at] + MASKED.sub(lambda match: match[0].partition(":")[0], value[at:])


def members(text: str) -> list[tuple[str, str]]:
    """(name, exact text of the value) of a JSON object."""
    found: list[tuple[str, str]] = []
    at = 1
    while text[at] != "}":
        at += text[at] == ","
        name, at = _DECODER.raw_decode(text, at)
        _, end = _DECODER.raw_decode(text, at + 1)
        found.append((name, text[at + 1 : end]))
        at = end
    return found


def differences(theirs: str, ours: str) -> Iterable[tuple[str, str, str]]:
    """(path, their text, our text) of every value that differs, however deep the rows stand."""
    if theirs == ours:
        return
    if theirs[:1] != "{" or ours[:1] != "{":
        yield "", theirs, ours
        return
    mine, yours = members(ours), members(theirs)
    if [name for name, _ in mine] != [name for name, _ in yours]:
        yield "", theirs, ours
        return
    for (name, our_text), (_, their_text) in zip(mine, yours, strict=True):
        for path, one, other in differences(their_text, our_text):
            yield f"{name}/{path}".rstrip("/"), one, other
