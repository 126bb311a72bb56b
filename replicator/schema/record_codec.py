"""Packs and compresses definitions for the records of the schema history."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
import zstandard

from replicator.errors import ProcessError
from replicator.model.decoding import from_msgpack
from replicator.schema.ddl_effects import Effects

_FORMAT: Final = 1
_LARGEST: Final = 1 << 30


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    format: int
    folded: bool
    effects: Effects


def pack(effects: Effects, *, folded: bool) -> bytes:
    """10,000 tables of 20 columns: about 0.5 MB."""
    return zstandard.ZstdCompressor(level=3).compress(msgspec.msgpack.encode(_Packed(_FORMAT, folded, effects)))


def unpack(data: bytes) -> tuple[Effects, bool]:
    """(what to set, whether the server folds names).

    Raises:
        ProcessError: E5014, nothing that we wrote, or written by a newer version.
    """
    try:
        raw = zstandard.ZstdDecompressor().decompress(data, max_output_size=_LARGEST)
        packed = from_msgpack(raw, _Packed)
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise _unreadable(str(error)) from error
    if packed.format != _FORMAT:
        raise _unreadable(f"format {packed.format}")
    return packed.effects, packed.folded


def _unreadable(found: str) -> ProcessError:
    return ProcessError("E5014", "the schema history can't be read", found=found, wanted=f"format {_FORMAT}")


def digest(text: str) -> str:
    """Short, and the same for the same statement."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
