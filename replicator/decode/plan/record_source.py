"""Generates the source that builds the records of a row from its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replicator.decode.plan.column_usage import ColumnUsage
from replicator.decode.plan.image_reader import Image
from replicator.decode.plan.json_objects import object_text
from replicator.decode.plan.lowering import Lines, Lowered, Object, Repeated, Simple
from replicator.decode.plan.raw_images import sized
from replicator.decode.plan.source_text import Part, SourceText, expression, joined, latin1, printed, variable
from replicator.decode.plan.variable_values import PER_EVENT, PER_ROW
from replicator.model.plan import Encode, RawImage, Text, Value, Var
from replicator.model.plan import Image as ImageName


class RecordText:
    """
    Attributes:
        row: name of the variable with the number that records get.
        event_lines: to be run once per event, before its rows.
        lists: the variables that gather `Repeated` steps.
    """

    def __init__(
        self, out: SourceText, images: Mapping[ImageName, Image], needs: ColumnUsage, encode: Encode | None
    ) -> None:
        self.row = "_row"
        self.event_lines: list[str] = []
        self.lists: dict[Repeated, str] = {}
        self._out = out
        self._read = images
        self._needs = needs
        self._encode = None if encode is None else out.bind("encode", encode)
        self._per_event: dict[tuple[Text | Var, ...], str] = {}

    def collect(self, records: Sequence[Lines]) -> None:
        """What every row adds to the records of a grouped plan."""
        for record in records:
            for template in record.templates():
                for step in template:
                    if isinstance(step, Repeated) and step not in self.lists:
                        name = self.lists[step] = self._out.fresh("list")
                        self._out.line(f"{name}.append({self._out.tree(joined(self._parts(step.template)))})")
        if not self.lists:
            self._out.line("pass")

    def emit(self, records: Sequence[Lines]) -> None:
        """Appends the records."""
        texts: dict[Lowered, str] = {}
        for record in records:
            key, value = self._bytes(record.key, texts), self._bytes(record.value, texts)
            if self._encode is not None:
                key, value = self._encoded(key, value)
            headers = self._headers(record, texts)
            route = "" if record.route is None else f", {self._bytes(record.route, texts)}"
            self._out.line(f"_append(({record.topic!r}, {key}, {value}, _position, {self.row}, {headers}{route}))")
            length = "len({})" if self._encode is None else "len({} or b'')"
            lengths = " + ".join(length.format(text) for text in (key, value) if text != "None")
            if lengths:
                self._out.line(f"_size += {lengths}")
        if not records:
            self._out.line("pass")

    def _encoded(self, key: str, value: str) -> tuple[str, str]:
        made = self._out.fresh("key"), self._out.fresh("value")
        self._out.line(f"{', '.join(made)} = {self._encode}({key}, {value})")
        return made

    def _headers(self, record: Lines, texts: dict[Lowered, str]) -> str:
        constants = [(name, _constant(template)) for name, template in record.headers]
        if all(value is not None for _, value in constants):
            return self._out.bind("headers", tuple(constants)) if constants else "()"
        pairs = ((name, self._bytes(template, texts)) for name, template in record.headers)
        return f"({''.join(f'({name!r}, {text}), ' for name, text in pairs)})"

    def _bytes(self, template: Lowered | None, texts: dict[Lowered, str]) -> str:
        """The name of a variable with the template's bytes; the same template is put together once."""
        if template is None:
            return "None"
        if template not in texts and (constant := _constant(template)) is not None:
            texts[template] = self._out.bind("constant", constant)
        elif template not in texts:
            name = texts[template] = self._out.fresh("text")
            self._out.line(f"{name} = {self._out.tree(joined(self._parts(template)))}.encode('latin-1')")
        return texts[template]

    def _parts(self, template: Sequence[Simple | Repeated]) -> list[Part]:
        parts: list[Part] = []
        same: list[Text | Var] = []  # the steps that are the same for all rows of the event
        for step in template:
            if isinstance(step, Text) or (isinstance(step, Var) and step.name in PER_EVENT):
                same.append(step)
                continue
            parts.extend(self._same(tuple(same)))
            same.clear()
            parts.extend(self._varying(step))
        return [*parts, *self._same(tuple(same))]

    def _varying(self, step: Simple | Repeated) -> list[Part]:
        if isinstance(step, Value):
            return self._read[step.image].text(self._needs.slot(step), latin1(step.null))
        if isinstance(step, Object):
            return [variable(object_text(self._out, step, self._read, self._needs))]
        if isinstance(step, RawImage):
            return [expression(self._image(step))]
        if isinstance(step, Repeated):
            return [expression(f"{latin1(step.separator)!r}.join({self.lists[step]})")]
        assert isinstance(step, Var), "text does not vary"  # noqa: S101
        return [expression(PER_ROW[step.name].format(row=self.row))]

    def _image(self, step: RawImage) -> str:
        image, cutter = self._read[step.image], self._needs.cutter(step)
        bounds = image.start, image.end
        text = "_s[{}:{}]".format(*bounds) if cutter is None else f"{cutter}(_b, {image.start})"
        return f"{self._out.bind('sized', sized)}({text})" if step.sized else text

    def _same(self, steps: tuple[Text | Var, ...]) -> list[Part]:
        if all(isinstance(step, Text) for step in steps):
            return [latin1(step.text) for step in steps if isinstance(step, Text)]
        if steps not in self._per_event:
            parts: list[Part] = [
                latin1(step.text) if isinstance(step, Text) else printed(step, PER_EVENT[step.name]) for step in steps
            ]
            name = self._per_event[steps] = self._out.fresh("event")
            self.event_lines.append(f" {name} = {self._out.tree(joined(parts))}")
        return [variable(self._per_event[steps])]


def _constant(template: Lowered) -> bytes | None:
    """The bytes of a template that prints nothing but literals."""
    if all(isinstance(step, Text) for step in template):
        return "".join(step.text for step in template if isinstance(step, Text)).encode()
    return None
