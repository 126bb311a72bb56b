"""Templates of Debezium's keys, row images and envelope."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from replicator.config.debezium import DebeziumOptions
from replicator.encode.debezium.columns import Kind, kind
from replicator.encode.debezium.defaults import default
from replicator.model import types
from replicator.model.json_string import quote
from replicator.model.plan import Image, Step, Template, Text, Value, Var, Variable
from replicator.model.snapshot import SnapshotMoment
from replicator.model.table import Column, Table

VERSION: Final = "3.6.1.Final"
"""`source.version`: of the Debezium whose bytes these are, not ours. Consumers dispatch on it."""

Part = TypeVar("Part", bound="Step | Template")

_FALLIBLE: Final = ("date_", "datetime_", "timestamp_")


class Field(msgspec.Struct, frozen=True):
    """A column as it is written.

    Attributes:
        default: JSON of its DEFAULT; None without.
    """

    column: Column
    kind: Kind
    renderer: str
    default: str | None
    null: str
    absent: str

    def value(self, image: Image) -> Value:
        return Value(self.column.index, image, self.renderer, self.null, self.absent)

    @property
    def schema(self) -> str:
        given = self.kind.schema(optional=self.column.nullable, default=self.default)
        return f'{{{given},"field":{quote(self.column.name)}}}'


def field(column: Column, options: DebeziumOptions) -> Field:
    """A NULL, and a date that is none, in a column with a DEFAULT are written as that."""
    chosen = kind(column, options)
    given = default(column, chosen.renderer)
    replaced = given if given is not None and options.replace_null_with_default else None
    instead = given if not column.nullable else replaced
    fallible = instead is not None and chosen.renderer.startswith(_FALLIBLE) and column.type != types.YEAR
    return Field(
        column=column,
        kind=chosen,
        renderer=f"{chosen.renderer}:{instead}" if fallible else chosen.renderer,
        default=given,
        null=replaced if replaced is not None else "null",
        absent=quote(_placeholder(chosen, options)),
    )


def _placeholder(chosen: Kind, options: DebeziumOptions) -> str:
    """Avro has no strings where bytes are."""
    text = options.unavailable_value_placeholder
    return b64encode(text.encode()).decode() if options.converter == "avro" and chosen.type == "bytes" else text


def fields(table: Table, options: DebeziumOptions) -> tuple[Field, ...]:
    return tuple(field(column, options) for column in table.columns)


def obj(parts: Iterable[Field], image: Image) -> list[Step]:
    """A JSON object of columns, its brace left open."""
    steps: list[Step] = []
    for number, part in enumerate(parts):
        steps.append(Text(("," if number else "{") + quote(part.column.name) + ":"))
        steps.append(part.value(image))
    return steps or [Text("{")]


def envelope(
    row: tuple[Field, ...], source: Iterable[Step], op: str, images: tuple[Image, ...], transaction: Iterable[Step]
) -> list[Step]:
    """The record's value; an image that is not in `images` is null."""
    steps: list[Step] = []
    both: tuple[Image, ...] = ("before", "after")
    for image in both:
        steps.append(Text(f'{"," if steps else "{"}"{image}":'))
        steps.extend([*obj(row, image), Text("}")] if image in images else [Text("null")])
    return [*steps, Text(',"source":'), *source, Text(',"transaction":'), *transaction, *_end(op)]


def _end(op: str) -> tuple[Step, ...]:
    return (
        Text(f',"op":"{op}","ts_ms":'), Var("now_ms"), Text(',"ts_us":'), Var("now_us"),
        Text(',"ts_ns":'), Var("now_ns"), Text("}"),
    )  # fmt: skip


def source(
    connector: str, name: str, database: str, table: str | None, *, query: bool = False, snapshot: str = "false"
) -> Template:
    """The block `source`. `name`: logical name of the connector; `snapshot`: its member of this name."""
    last: tuple[Step, ...] = (Var("query"), Text("}")) if query else (Text("null}"),)
    return (
        Text(f'{{"version":"{VERSION}","connector":"{connector}","name":{quote(name)},"ts_ms":'),
        Var("ts_ms"),
        Text(f',"snapshot":"{snapshot}","db":{quote(database)},"sequence":null,"ts_us":'),
        Var("ts_us"),
        Text(',"ts_ns":'),
        Var("ts_ns"),
        Text(f',"table":{"null" if table is None else quote(table)},"server_id":'),
        Var("server_id"),
        Text(',"gtid":'),
        Var("gtid"),
        Text(',"file":'),
        Var("file"),
        Text(',"pos":'),
        Var("pos"),
        Text(',"row":'),
        Var("row"),
        Text(',"thread":'),
        Var("thread"),
        Text(',"query":'),
        *last,
    )


ORDER: Final[Template] = (
    Text('{"id":'), Var("gtid"), Text(',"total_order":'), Var("order"),
    Text(',"data_collection_order":'), Var("table_order"), Text("}"),
)  # fmt: skip
"""The block `transaction`."""


def snapshot_variables(moment: SnapshotMoment, *, whole_seconds: bool = False) -> Mapping[Variable, str]:
    """JSON of `source` that all records of a snapshot share: time and position of its beginning, no server, no thread.

    Debezium asks the server for CURRENT_TIMESTAMP, so that rows of an initial snapshot have `whole_seconds`.
    """
    ms = moment.ts_ms // 1000 * 1000 if whole_seconds else moment.ts_ms
    return {
        "ts_ms": str(ms),
        "ts_us": f"{ms}000",
        "ts_ns": f"{ms}000000",
        "server_id": "0",
        "gtid": "null",
        "file": quote(moment.file),
        "pos": str(moment.offset),
        "row": "0",
        "thread": "null",
        "query": "null",
    }


_ADDED: Final[dict[str, Variable]] = {
    "ts_ms": "now_ms",
    "source.ts_ms": "ts_ms",
    "source.ts_us": "ts_us",
    "source.ts_ns": "ts_ns",
    "source.gtid": "gtid",
    "source.file": "file",
    "source.pos": "pos",
    "source.row": "row",
    "source.server_id": "server_id",
    "source.thread": "thread",
    "source.query": "query",
}


def flat(row: tuple[Field, ...], table: Table, op: str, image: Image, *, rewrite: bool, add: Iterable[str]) -> Template:
    """The row alone, as ExtractNewRecordState leaves it. `rewrite`: with `__deleted`."""
    steps = obj(row, image)
    if rewrite:
        steps.append(Text(f',"__deleted":"{"true" if op == "d" else "false"}"'))
    for name in add:
        steps.append(Text(f',"__{name.replace(".", "_")}":'))
        words = {"op": op, "table": table.name, "db": table.database}
        word = words.get(name.removeprefix("source."))
        steps.append(Text(quote(word)) if word is not None else Var(_ADDED[name]))
    return joined([*steps, Text("}")])


def joined(steps: Iterable[Step]) -> Template:
    """Neighbouring literals made one."""
    made: list[Step] = []
    for step in steps:
        last = made[-1] if made else None
        if isinstance(step, Text) and isinstance(last, Text):
            made[-1] = Text(last.text + step.text)
        else:
            made.append(step)
    return _shared(tuple(_shared(step) for step in made))


def _shared(part: Part) -> Part:
    """The first one that was equal to it: tables have much in common, and there may be thousands."""
    return _first(part)  # type: ignore[return-value]


@lru_cache(maxsize=50_000)
def _first(part: Step | Template) -> Step | Template:
    return part
