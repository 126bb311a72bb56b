"""A configuration as YAML that applies again."""

from __future__ import annotations

import json
from typing import Any

import yaml

from replicator.config.canonical import canonical_data
from replicator.config.load import load_task, parse_task
from replicator.errors import ConfigError


def exported(data: dict[str, Any], *, defaults: bool = True) -> str:
    """YAML of a configuration in plain data. Loaded by this release it gives an equal configuration, with or without
    the keys that have their default. What this release does not understand is written as it is."""
    try:
        config = parse_task(data)
    except ConfigError:
        return _yaml(data)
    shown = canonical_data(data)
    if not defaults:
        shown = config.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    for text in (_yaml(shown), json.dumps(shown, ensure_ascii=False, indent=2) + "\n"):
        try:
            if load_task(text) == config:
                return text
        except ConfigError:
            continue  # YAML that means something else to our reader: JSON does not
    return _yaml(canonical_data(data))


def _yaml(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100))
