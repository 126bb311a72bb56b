"""The canonical text of a configuration, and the difference of two."""

from __future__ import annotations

import difflib
from typing import Any

import yaml

from replicator.config.load import parse_task, to_data
from replicator.errors import ConfigError


def canonical_data(data: dict[str, Any]) -> dict[str, Any]:
    """With every default written out, in the order of the models, so that two releases write the same. As it is where
    this release does not understand it."""
    try:
        return to_data(parse_task(data))
    except ConfigError:
        return data


def canonical_text(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump(canonical_data(data), sort_keys=False, allow_unicode=True, width=1000))


def difference(before: dict[str, Any], after: dict[str, Any], names: tuple[str, str]) -> str:
    """A unified diff of the canonical texts, "" where they are equal. `names`: of the two, for its head."""
    lines = difflib.unified_diff(
        canonical_text(before).splitlines(), canonical_text(after).splitlines(), *names, lineterm=""
    )
    return "".join(f"{line}\n" for line in lines)
