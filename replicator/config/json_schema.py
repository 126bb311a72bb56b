"""The JSON Schema of a task configuration, made from the models: docs/task.schema.json is `text()`."""

from __future__ import annotations

import functools
import json
from typing import Any

from replicator.config.task import TaskConfig


@functools.cache
def schema() -> dict[str, Any]:
    """JSON Schema 2020-12. An editor that knows it completes and checks while one types, for instance by the first
    line `# yaml-language-server: $schema=task.schema.json`. Made once, in a quarter of a second: not to be changed."""
    made = TaskConfig.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "A task of mysql-replicator"}


def text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
