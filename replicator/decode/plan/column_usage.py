"""Determines which columns of the row images a plan reads, prints and compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from replicator.decode.binlog.column_presence import Presence
from replicator.decode.plan.image_reader import Image, Slot
from replicator.decode.plan.lowering import Lines, Object, simple_steps
from replicator.decode.plan.raw_images import ImageCutter, copied
from replicator.decode.plan.source_text import SourceText, latin1
from replicator.decode.renderers.contract import Rendering
from replicator.model import types
from replicator.model.column_sizes import fixed_size
from replicator.model.plan import Image as ImageName
from replicator.model.plan import RawImage, Value
from replicator.model.table import Column, Table

Renderer: TypeAlias = Callable[[str, Column, Table], Rendering]

_Key: TypeAlias = tuple[int, ImageName, str]


class ColumnUsage:
    """Filled by `count` and `compare`; then `image` may be called."""

    def __init__(self, out: SourceText, table: Table, presence: Presence, rendering: Renderer) -> None:
        self._out = out
        self._table = table
        self._presence = presence
        self._rendering = rendering
        self._slots: dict[_Key, Slot] = {}
        self._kept: dict[ImageName, set[int]] = {"before": set(), "after": set()}
        self._whole: set[ImageName] = set()
        self._cutters: dict[RawImage, str] = {}

    def count(self, records: Iterable[Lines]) -> None:
        """Finds the slots of a group of records, of which a row takes one or the other."""
        eager: dict[_Key, int] = {}
        for template in dict.fromkeys(template for record in records for template in record.templates()):
            for step in simple_steps(template):
                if isinstance(step, Value):
                    key = self._use(step)
                    eager[key] = eager.get(key, 0) + 1
                elif isinstance(step, Object):
                    self._count_object(step, eager)
                elif isinstance(step, RawImage):
                    self._count_image(step)
        for key, count in eager.items():
            self._slots[key].uses = max(self._slots[key].uses, count)

    def _count_object(self, step: Object, eager: dict[_Key, int]) -> None:
        for entry in step.entries:
            key = self._use(entry.value)
            column = entry.value.column
            if entry.changed:
                self.compare([column])
            elif entry.not_null:
                self._kept[entry.value.image].add(column)
            else:
                eager[key] = eager.get(key, 0) + 1

    def _count_image(self, step: RawImage) -> None:
        self._whole.add(step.image)
        present = self._present(step.image)
        if step not in self._cutters and not copied(step, self._table, len(present)):
            cutter = ImageCutter(step, self._table, present, self._rendering)
            self._cutters[step] = self._out.bind("cutter", cutter)

    def cutter(self, step: RawImage) -> str | None:
        """The name of what puts the image together; None: it is copied."""
        return self._cutters.get(step)

    def _present(self, name: ImageName) -> list[Column]:
        return [column for column in self._table.columns if self._presence.has(name, column.index)]

    def _use(self, step: Value) -> _Key:
        key = (step.column, step.image, step.renderer)
        if key not in self._slots:
            column = self._table.columns[step.column]
            self._slots[key] = Slot(column, self._rendering(step.renderer, column, self._table), texts={})
        texts = self._slots[key].texts
        texts.setdefault(latin1(step.null), self._out.fresh("x"))
        return key

    def compare(self, columns: Sequence[int]) -> None:
        """The raw values of these columns are compared between the images."""
        for image, kept in self._kept.items():
            kept.update(column for column in columns if self._presence.has(image, column))

    def slot(self, step: Value) -> Slot:
        return self._slots[step.column, step.image, step.renderer]

    def image(self, name: ImageName) -> Image:
        slots: dict[int, list[Slot]] = {}
        for (column, image, _), slot in self._slots.items():
            if image == name:
                slots.setdefault(column, []).append(slot)
        kept = {index: self._cut(index) for index in sorted(self._kept[name])}
        return Image(self._out, self._present(name), slots, kept, spanned=name in self._whole)

    def _cut(self, index: int) -> str:
        """How a value is cut out to be compared: as it is for a renderer of either image, if that tells all values
        apart. (0.0 and -0.0 are equal as numbers.)"""
        column = self._table.columns[index]
        size = fixed_size(column)
        used = [slot.rendering.cut for (place, _, _), slot in self._slots.items() if place == index]
        if used and column.type not in (types.FLOAT, types.DOUBLE):
            return used[0]
        return "bytes" if size is None else f"{size}s"
