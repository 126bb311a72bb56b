"""Loads a configuration from text or znode data, or raises an error that names every problem at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from replicator.config.problems import problems
from replicator.config.task import TaskConfig
from replicator.config.text import Document, parse
from replicator.errors import ConfigError


class TaskConfigError(ConfigError):
    """The first problem as an error; `errors` holds all of them."""

    errors: tuple[ConfigError, ...] = ()

    @classmethod
    def of(cls, errors: Iterable[ConfigError]) -> TaskConfigError:
        first, *rest = all_of_them = tuple(errors)
        more = "; ".join(f"{error.code} {error.what}" for error in rest)
        found = ", and ".join(part for part in (first.found, f"{len(rest)} more: {more}" if more else "") if part)
        result = cls(first.code, first.what, found=found, wanted=first.wanted, fix=first.fix)
        result.errors = all_of_them
        return result


def load_task(text: str | bytes) -> TaskConfig:
    """A task from YAML or JSON.

    Raises:
        ConfigError: E1001 syntax, E1008 size or depth; TaskConfigError with everything else.
    """
    return _validate(parse(text))


def parse_task(data: Any) -> TaskConfig:
    """A task from plain data, as it stands in a znode or in a request. Raises ConfigError as `load_task`."""
    try:
        text = json.dumps(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError("E1001", f"the data can't be represented in JSON: {error}") from None
    return load_task(text) if isinstance(data, dict) else _validate(Document(data, {}))


def to_data(config: TaskConfig) -> dict[str, Any]:
    """As JSON-able data with every default written out, so that what a task does stands in its znode and an upgrade
    with other defaults does not change it. Secrets stay references. `parse_task` is its inverse.

    Labels are left out where there are none: they have no default that could change, and Cores of earlier releases
    refuse the key."""
    data = config.model_dump(mode="json", exclude_none=True)
    if not config.labels:
        del data["labels"]
    return data


def _validate(document: Document) -> TaskConfig:
    try:
        # strict JSON mode: "3306" is no number and true is no 1, as the published JSON Schema says too
        return TaskConfig.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        raise TaskConfigError.of(problems(error, document)) from None
