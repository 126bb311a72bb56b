"""Topic names from a template, adjusted to Kafka's rules and checked for collisions."""

from __future__ import annotations

import re
from string import Formatter
from typing import Final

from replicator.errors import ConfigError
from replicator.model.table import Table

_FIELDS: Final = ("task", "database", "table")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST: Final = 249


class Topics:
    """Names the topic of each table of a task.

    Characters that Kafka does not carry become `_` in the fields (as Debezium does) and are refused in the template's
    own text. Tables may share a topic only where the template says so by leaving {database} or {table} out.

    Args:
        template: text with {task}, {database} and {table}; `{{` and `}}` give braces, which Kafka then refuses.
        task: the task's name.

    Raises:
        ConfigError: E1003, the template is malformed or has other fields; E1007, its own text is not fit for Kafka.
    """

    def __init__(self, template: str, task: str) -> None:
        self._template = template
        self._task = task
        self._parts = _parse(template)
        self._owners: dict[str, tuple[str, ...]] = {}

    def topic(self, table: Table, source: Table | None = None) -> str:
        """The topic of `table`; `source` is the same table under the names that the source gives it, which count for
        whether two tables share a topic by accident.

        Raises:
            ConfigError: E1007, the name is too long, is `.` or `..`, or belongs to another table already.
        """
        fields = {"task": self._task, "database": table.database, "table": table.name}
        name = "".join(text + (_UNFIT.sub("_", fields[field]) if field else "") for text, field in self._parts)
        owner = source or table
        owners = {"task": self._task, "database": owner.database, "table": owner.name}
        self._check(name, owner)
        self._claim(name, tuple(owners[field] for _, field in self._parts if field), owner)
        return name

    def shared(self, name: str, group: str, source: Table) -> str:
        """The topic `name`, its characters made fit, which the tables of `group` share on purpose.

        Raises:
            ConfigError: E1007, as `topic`.
        """
        name = _UNFIT.sub("_", name)
        self._check(name, source)
        self._claim(name, ("route", group), source)
        return name

    def _check(self, name: str, table: Table) -> None:
        if len(name) > _LONGEST or name in ("", ".", ".."):
            raise ConfigError(
                "E1007",
                f"table {table.qualified} gets a topic name that Kafka does not allow",
                found=f"'{name[:60]}' ({len(name)} characters)",
                wanted=f"1 to {_LONGEST} characters, not '.' or '..'",
                fix="Shorten `sink.topic`, or exclude the table.",
            )

    def _claim(self, name: str, identity: tuple[str, ...], table: Table) -> None:
        owner = self._owners.setdefault(name, identity)
        if owner != identity:
            raise ConfigError(
                "E1007",
                f"two tables get the same topic '{name}'",
                found=f"{table.qualified}, and an earlier one with {', '.join(owner)}",
                wanted="names that differ after characters outside [A-Za-z0-9._-] are replaced by '_'",
                fix="Exclude one of the tables, create a task with another topic template for it, or confirm with "
                "`transforms.route` that both use the topic.",
            )


def _parse(template: str) -> list[tuple[str, str]]:
    """(literal text, field after it or "") pairs."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise ConfigError("E1003", f"`sink.topic` is not a valid template: {error}", found=template) from error
    result: list[tuple[str, str]] = []
    for text, field, spec, conversion in parts:
        if (field is not None and field not in _FIELDS) or spec or conversion:
            raise ConfigError(
                "E1003",
                "`sink.topic` has an unknown field",
                found="{"
                + (field or "")
                + (f"!{conversion}" if conversion else "")
                + (f":{spec}" if spec else "")
                + "}",
                wanted="{task}, {database} and {table}",
            )
        if _UNFIT.search(text):
            raise ConfigError(
                "E1007",
                "`sink.topic` has characters that Kafka does not allow",
                found=f"'{text}'",
                wanted="letters, digits, '.', '_' and '-'",
            )
        result.append((text, field or ""))
    return result
