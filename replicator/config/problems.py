"""Converts pydantic errors to errors for people: code, path, line, expected value, nearest known key."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from replicator.config.fields import field_at, is_secret, known_keys, literals, model_at, models_in
from replicator.config.task import TaskConfig
from replicator.config.text import Document, Path
from replicator.errors import ConfigError

_KINDS = {
    "string": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "model": "a mapping of keys",
    "dict": "a mapping of keys",
    "model_attributes": "a mapping of keys",
}


_STATE = ("quarantine", "mended", "replay")
"""Keys of `source` that earlier versions kept what operators ordered in."""


def problems(error: ValidationError, document: Document) -> list[ConfigError]:
    """One ConfigError per problem, in the order of the text; several of one union member count once."""
    found: dict[tuple[str, Path], tuple[int, ConfigError]] = {}
    for details in error.errors(include_url=False):
        if details["type"] == "too_short" and details["input"]:
            continue  # said of a list whose items are wrong, which is said of each already
        path = real_path(details, document.data)
        one = _one(details, path, document)
        found.setdefault((one.code, path), (document.lines.get(path, 1 << 30), one))
    return [one for _, one in sorted(found.values(), key=lambda pair: pair[0])]


def real_path(details: ErrorDetails, data: Any) -> Path:
    """pydantic's location without the tags of unions that it puts in between."""
    path: list[str | int] = []
    ends_in_key = details["type"] in ("missing", "extra_forbidden")
    for index, key in enumerate(details["loc"]):
        in_mapping = isinstance(data, dict) and key in data and not (index and data.get("type") == key)
        in_list = isinstance(data, list) and isinstance(key, int) and key < len(data)
        if in_mapping or in_list:
            data = data[key]
        elif not (ends_in_key and index == len(details["loc"]) - 1):
            continue
        path.append(key)
    return tuple(path)


def dotted(path: Path) -> str:
    """`sink.bootstrap_servers[0]`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".") or "the document"


def _one(details: ErrorDetails, path: Path, document: Document) -> ConfigError:
    kind, where = details["type"], _where(path, document)
    if kind == "extra_forbidden":
        return _unknown(path, where, document.data)
    if kind in ("missing", "union_tag_not_found"):
        tag = kind == "union_tag_not_found"
        key: Path = (*path, "type") if tag else path
        wanted = _choices(path, document.data) if tag else _meaning(key, document.data)
        return ConfigError("E1004", f"{dotted(key)} is missing", found=where if tag else "", wanted=wanted)
    if is_secret(document.data, path):
        return ConfigError(
            "E1005",
            f"{dotted(path)} must be a reference, not the secret itself",
            found=f"a literal{' on ' + where if where else ''}",
            wanted="env:NAME, file:/path or command:PROGRAM",
        )
    if kind == "replicator":
        return _own(details["ctx"], path, where)
    if path == ("name",) and kind in ("string_too_short", "string_too_long"):
        return ConfigError("E1007", f"invalid name: {details['msg']}", found=_shown(details["input"], where))
    if kind == "json_invalid":
        return ConfigError(
            "E1001", "the text contains an unpaired surrogate", wanted="UTF-8", fix="Remove the character."
        )
    return ConfigError(
        "E1003",
        f"{dotted(path)} has an invalid value",
        found=_shown(details["input"], where, whole=kind.startswith(("model", "dict"))),
        wanted=_wanted(details, path, document.data),
        fix=f"See `replicator explain {'.'.join(['task', *(key for key in path if isinstance(key, str))])}`",
    )


def _where(path: Path, document: Document) -> str:
    line = document.lines.get(path)
    return f"line {line}" if line else ""


def _own(context: dict[str, Any], path: Path, where: str) -> ConfigError:
    """An error of one of our own checks (`annotated.checked`): its parts are there already."""
    found = ", ".join(part for part in (context["found"], where) if part)
    what = f"{dotted(path)}: {context['what']}" if path != ("name",) else context["what"]
    return ConfigError(context["code"], what, found=found, wanted=context["wanted"])


def _unknown(path: Path, where: str, data: Any) -> ConfigError:
    *parents, key = path
    if path[:1] == ("source",) and key in _STATE:
        return ConfigError("E1013", f"{dotted(path)} does not belong in a configuration", found=where)
    model = model_at(data, tuple(parents))
    here = list(model.model_fields) if model else []
    near = difflib.get_close_matches(str(key), here, n=1, cutoff=0.6)
    if near:
        fix = f"Write {near[0]}"
    else:
        other = next((known for known in known_keys(TaskConfig) if known[-1] == key), None)
        fix = f"Move it to {dotted(other[:-1])}" if other and len(other) > 1 else ""
    return ConfigError(
        "E1002",
        f"{dotted(path)} is not a known key",
        found=where,
        wanted=f"one of {', '.join(here)}" if here else "",
        fix=fix,
    )


def _meaning(path: Path, data: Any) -> str:
    field = field_at(data, path)
    return (field.description or "") if field else ""


def _choices(path: Path, data: Any) -> str:
    """The values that `type` may have in the mapping at `path`."""
    field = field_at(data, path)
    choices = [
        choice
        for model in (models_in(field.annotation) if field else ())
        if "type" in model.model_fields
        for choice in literals(model.model_fields["type"].annotation)
    ]
    return " or ".join(map(str, choices))


def _wanted(details: ErrorDetails, path: Path, data: Any) -> str:
    kind = details["type"]
    if kind == "union_tag_invalid":
        return _choices(path, data)
    for prefix, wanted in _KINDS.items():
        if kind in (f"{prefix}_type", f"{prefix}_parsing", f"{prefix}_from_float", f"{prefix}_attributes_type"):
            quote = kind == "string_type" and isinstance(details["input"], bool | int | float)
            return f"{wanted} (put it in quotes)" if quote else wanted
    if kind == "too_short":
        return "at least one"
    return str(details["msg"]).replace("Input should be ", "").replace("Value should have ", "")


def _shown(value: Any, where: str, whole: bool = False) -> str:
    """Short plain values are repeated; of anything larger the type alone, since it may hold a secret, and so of a
    plain value where a `whole` mapping should stand."""
    if whole and isinstance(value, str | int | float):
        text = "a plain value"
    elif isinstance(value, dict):
        text = f"a mapping{' of ' + value['type'] if isinstance(value.get('type'), str) else ''}"
    elif isinstance(value, list):
        text = f"a list of {len(value)}"
    elif value is None:
        text = "nothing"
    else:
        text = repr(value)[:60]
    return f"{text} on {where}" if where else text
