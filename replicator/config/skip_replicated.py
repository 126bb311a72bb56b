"""Which transactions of tasks a source leaves out (`source.skip_replicated`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from replicator.config.annotated import checked
from replicator.config.names import MAX_NAME, check_task_name

_Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), checked(check_task_name)]
Words: TypeAlias = Literal["none", "all"]


def _form(value: Any) -> str:
    return "names of tasks" if isinstance(value, list | tuple) else "a word"


SkipReplicated = Annotated[
    Annotated[Words, Tag("a word")]
    | Annotated[tuple[_Name, ...], Field(min_length=1, max_length=1000), Tag("names of tasks")],
    Discriminator(_form),
]
