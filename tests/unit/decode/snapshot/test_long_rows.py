"""A row of more than 8 MB gives back its image while its record is written, and the record is that of the twin."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from replicator import compiled
from replicator.decode.native.row_functions import row_functions
from replicator.decode.plan.row_functions import PYTHON, RowFunctions
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.model import types
from replicator.model.batch import Batch
from replicator.model.plan import TablePlan
from replicator.model.snapshot import Marker, RowImages
from replicator.model.table import Column, Table
from tests.unit.compiled import both as pair
from tests.unit.decode import binlog_writer as writer
from tests.unit.decode.snapshot.inserted import Inserted

pytestmark = pytest.mark.skipif(not compiled.available(), reason=compiled.why_not())

ALL: tuple[Marker, Marker, Marker] = ("true", "true", "true")
SIZE = (9 << 20) + 1
NOISE = random.Random(1).randbytes(SIZE)
TEXT = 'ascii "quoted" \\ \x01 é € 😀 '.encode() * (SIZE // 30)
BINARY = Table("shop", "b", (Column(0, "b", types.BLOB, 4, collation=63),))
WORDS = Table("shop", "w", (Column(0, "w", types.BLOB, 4, collation=45),))


class Described:
    """A catalog that knows the collations, too."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def describe(self, table: Table, *, named: bool) -> Table:
        return self._table


def decoded(
    functions: RowFunctions, plan: TablePlan, table: Table, value: bytes, *, spend: bool = True
) -> tuple[Batch, bytes]:
    """The batch of a row, and what is left of its image."""
    image = b"\0" + len(value).to_bytes(4, "little") + value
    chunk = Inserted(writer.table_map(table), table, RowImages(image, [len(image)])).chunk()
    catalog: Any = Described(table)
    decoder = ChunkDecoder(
        lambda _: lambda table: plan, mariadb=False, catalog=catalog, functions=functions, clock=lambda: pair.NOW
    )
    (batch,) = decoder.rows(chunk, "i", *ALL, spend=spend)
    return msgspec.structs.replace(batch, records=list(batch.records)), image


def compared(plan: TablePlan, table: Table, value: bytes) -> bool:
    """Whether the image was given back; the records are the same."""
    wanted, _ = decoded(PYTHON, plan, table, value)
    found, image = decoded(row_functions(), plan, table, value)
    assert (found.rows, found.size) == (wanted.rows, wanted.size)
    assert found.records == wanted.records
    return image[1 << 20 : 5 << 18] == bytes(1 << 18)


@pytest.mark.parametrize("renderer", ["base64", "base64_url", "hex"])
def test_bytes(renderer: str) -> None:
    assert compared(writer.plan(BINARY, keys=(), renderer=renderer), BINARY, NOISE)


def test_text_is_cut_between_characters() -> None:
    assert compared(writer.plan(WORDS, keys=(), renderer="text"), WORDS, TEXT)


@pytest.mark.parametrize("form", ["debezium", "canal"])
def test_formats(form: str) -> None:
    made: Any = pair.format_of(form).plan(BINARY, "x")
    assert compared(made, BINARY, NOISE)


def test_images_of_others_are_kept() -> None:
    plan = writer.plan(BINARY, keys=(), renderer="base64")
    _, image = decoded(row_functions(), plan, BINARY, NOISE, spend=False)
    assert image[5:] == NOISE


def test_a_shorter_value_is_kept() -> None:
    assert not compared(writer.plan(BINARY, keys=(), renderer="base64"), BINARY, NOISE[: 7 << 20])


def test_a_value_that_is_written_twice_is_kept() -> None:
    plan = writer.plan(BINARY, keys=(), renderer="base64")
    assert not compared(msgspec.structs.replace(plan, insert=plan.insert * 2), BINARY, NOISE)


def test_text_that_is_none_is_left_to_the_twin() -> None:
    table, plan = WORDS, writer.plan(WORDS, keys=(), renderer="text")
    value = TEXT + b"\xff"
    assert not compared(plan, table, value)
