"""`transforms.mask`: hides column values in all images and in keys. NULL stays NULL."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replicator.config.transforms import MaskRule
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.condition import kind_of
from replicator.model.table import Column, Table
from replicator.transform.names import Scope
from replicator.transform.routes import text_column
from replicator.transform.view import Origin, View, key_of


class Masks:
    """The format sees a masked column as one of text, so that what it declares of it is what it writes. The first rule
    for a column counts."""

    def __init__(self, rules: Sequence[MaskRule]) -> None:
        places = [f"transforms.mask[{number}]" for number in range(len(rules))]
        self._rules = [(Scope(rule.tables, place), rule) for rule, place in zip(rules, places, strict=True)]
        self.keys: dict[str, str] = {}
        for rule, place in zip(rules, places, strict=True):
            if rule.hash is not None:
                self.keys.setdefault(rule.hash, f"{place}.hash")
        """References of the keys that hashes need, and where each is first."""

    def __contains__(self, source: Table) -> bool:
        return any(source in scope for scope, _ in self._rules)

    def __call__(self, source: Table, view: View) -> View:
        """Raises DecodeError E2310: no such column, a part of the key, a type that can't be masked like this."""
        rules: dict[int, MaskRule] = {}
        for scope, rule in self._rules:
            if source in scope:
                found = [scope.column(source, name, "columns") for name in rule.columns]
                for column in found:
                    if column is not None:
                        _check(source, column, rule, scope.where)
                        rules.setdefault(column.index, rule)
        for place, origin in enumerate(view.origins):
            if origin.constant is None and origin.column in rules:
                view = _masked(view, place, source.columns[origin.column], rules[origin.column])
        return view


def _masked(view: View, place: int, real: Column, rule: MaskRule) -> View:
    """`real`: the column at the source, under its own name."""
    seen = view.table.columns[place]
    if rule.nullify:
        return view.replaced(msgspec.structs.replace(seen, nullable=True), Origin(real.index, nothing=True))
    if rule.keep_last is not None and kind_of(real) == "text" and real.type not in (types.ENUM, types.SET):
        return view.replaced(seen, Origin(real.index, mask=f"mask:last:{rule.keep_last}:", wraps=True))
    text = text_column(place, seen.name, nullable=seen.nullable, declared=seen.declared is not None)
    return view.replaced(text, Origin(real.index, mask=_renderer(rule)))


def _renderer(rule: MaskRule) -> str:
    """Keys stand in it by reference only."""
    if rule.fixed is not None:
        return f"mask:fixed:{rule.fixed}"
    if rule.hash is not None:
        return f"mask:hash:{rule.encoding}:{rule.hash}"
    return f"mask:last:{rule.keep_last}:"


def _check(table: Table, column: Column, rule: MaskRule, where: str) -> None:
    kind = kind_of(column)
    if column.index in key_of(table) and not (rule.keys and rule.hash):
        raise DecodeError(
            "E2310",
            f"{where}.columns masks a part of the primary key of {table.qualified}",
            found=column.name,
            wanted="a hash, which keeps rows distinct, and `keys: true`" if rule.keys else "`keys: true` and a hash",
            fix="Mask other columns, or use `hash` with `keys: true`: keys and rows then carry the digest.",
        )
    refused = (rule.hash is not None and kind is None) or (
        rule.keep_last is not None and kind not in ("text", "number")
    )
    if refused:
        raise DecodeError(
            "E2310",
            f"{where} can't mask {table.qualified}.{column.name} in this way",
            found=types.NAMES.get(column.type, str(column.type)),
            wanted="fixed or nullify for this type" if rule.hash else "keep_last for text and numbers",
        )
