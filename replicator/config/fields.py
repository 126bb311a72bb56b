"""Walks models and data together: the model that governs a path, its keys, and its secrets."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from replicator.config.task import TaskConfig
from replicator.config.text import Path


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Every model that a field of this type may hold, in the order written."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    for part in typing.get_args(annotation):
        yield from models_in(part)


def _fits(model: type[BaseModel], value: dict[str, Any]) -> tuple[bool, int]:
    kind = model.model_fields.get("type")
    by_type = bool(kind) and value.get("type") in literals(kind.annotation if kind else None)
    return by_type, len(set(model.model_fields) & set(value))


def literals(annotation: Any) -> tuple[Any, ...]:
    """The choices of a Literal, also inside a union."""
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation)
    return tuple(choice for part in typing.get_args(annotation) for choice in literals(part))


def model_at(data: Any, path: Path) -> type[BaseModel] | None:
    """The model of the mapping at `path`; of several the one whose `type` is written there, else the most alike."""
    model: type[BaseModel] | None = TaskConfig
    for key in path:
        data = data[key] if isinstance(data, dict) and key in data else {}
        field = model.model_fields.get(str(key)) if model else None
        candidates = list(models_in(field.annotation)) if field else []
        value = data if isinstance(data, dict) else {}
        model = max(candidates, key=lambda m: _fits(m, value)) if candidates else None
    return model


def field_at(data: Any, path: Path) -> FieldInfo | None:
    """The field that `path` ends in; inside a list, the list's field."""
    names = tuple(key for key in path if isinstance(key, str))
    model = model_at(data, names[:-1]) if names else None
    return model.model_fields.get(names[-1]) if model else None


def is_secret(data: Any, path: Path) -> bool:
    """True for a field that holds a reference to a secret: its value is never repeated in an error."""
    field = field_at(data, path)
    return field is not None and any(
        "env:" in str(getattr(part, "pattern", "")) for part in [*field.metadata, *_nested(field.annotation)]
    )


def _nested(annotation: Any) -> list[Any]:
    """What annotations say inside of unions and lists, too."""
    args = typing.get_args(annotation)
    return [part for arg in args for part in [arg, *getattr(arg, "metadata", ()), *_nested(arg)]]


def known_keys(model: type[BaseModel], prefix: Path = ()) -> Iterator[Path]:
    """Every path below `model`, for `explain` and for keys that stand in the wrong place."""
    for name, field in model.model_fields.items():
        yield (*prefix, name)
        for inner in models_in(field.annotation):
            yield from known_keys(inner, (*prefix, name))
