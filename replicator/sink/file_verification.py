"""Verifies that an output file belongs to the task before a byte of it is changed: committed content by its digest, the
rest by its form. Content of another form is never read into memory as a whole."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO, Final

import msgspec

from replicator.errors import SinkError
from replicator.model.decoding import json_decoder
from replicator.model.term import Term
from replicator.sink.file_position import Mark, foreign, new_digest

_BLOCK: Final = 1 << 20
_BEGIN: Final = b'{"topic":"'
"""Of every line of ours (`lines.py`)."""


class _Header(msgspec.Struct):
    key: str
    value: str | None = None


class _Line(msgspec.Struct):
    topic: str
    offset: int
    headers: list[_Header]


class _Head(msgspec.Struct):
    topic: str
    offset: int


def prove(file: BinaryIO, mark: Mark, term: Term, shown: str) -> hashlib.blake2b:
    """The digest of what is committed, to go on with.

    Raises SinkError: E3201, the file is shorter than what was committed to it; E3203, it is another file, or somebody
    else has written into it.
    """
    size = os.fstat(file.fileno()).st_size
    if size < mark.size:
        raise SinkError(
            "E3201",
            f"{shown} is shorter than its committed size",
            found=f"{size} bytes",
            wanted=f"at least {mark.size} bytes",
            fix=f"Restore the file, or delete {shown}.position and create a new task.",
        )
    digest = _digest(file, mark.size)
    if digest.hexdigest() != mark.digest:
        raise foreign(shown, f"its first {mark.size} bytes are not those that were committed")
    _prove_rest(file, mark.size, size, term, shown)
    return digest


def next_offsets(file: BinaryIO, size: int) -> dict[str, int]:
    """Goes through the first `size` bytes, which are proved, once: offsets of topics continue where they end."""
    offsets: dict[str, int] = {}
    decoder = json_decoder(_Head)
    file.seek(0)
    with open(file.fileno(), "rb", closefd=False) as lines:
        left = size
        while left > 0:
            line = lines.readline()
            left -= len(line)
            head = decoder.decode(line)
            offsets[head.topic] = max(offsets.get(head.topic, 0), head.offset + 1)
    return offsets


def _digest(file: BinaryIO, size: int) -> hashlib.blake2b:
    digest = new_digest()
    file.seek(0)
    left = size
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        digest.update(block)
        left -= len(block)
    return digest


def _prove_rest(file: BinaryIO, start: int, end: int, term: Term, shown: str) -> None:
    """What a killed process of ours may leave behind the last commit: whole lines of this task, the beginning of one,
    and zeros where the machine lost power."""
    decoder = json_decoder(_Line)
    with open(file.fileno(), "rb", closefd=False) as rest:
        rest.seek(start)
        at = start
        while at < end:
            head = rest.read(len(_BEGIN))
            if not head.strip(b"\0"):
                line = head
            elif not (_BEGIN.startswith(head) or head == _BEGIN):
                raise _meddled(shown, at)
            else:
                line = head + rest.readline()
                if line.endswith(b"\n") and not _is_ours(line, decoder, term):
                    raise _meddled(shown, at)
            at += len(line)


def _is_ours(line: bytes, decoder: msgspec.json.Decoder[_Line], term: Term) -> bool:
    try:
        headers = decoder.decode(line).headers
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return b"\0" in line  # JSON has none: a block that never reached the disk
    return any(header.key == "task" and header.value == term.task for header in headers)


def _meddled(shown: str, at: int) -> SinkError:
    return SinkError(
        "E3203",
        f"another process has written to {shown}",
        found=f"content of another process from byte {at} on",
        wanted="only content that this task has written",
        fix=f"Save the content from byte {at} on, truncate the file (truncate -s {at} {shown}), and start the task.",
    )
