"""Rules for names of tasks and for topic templates.

A task's name goes into znode paths, topics, transactional ids and consumer-visible headers. Characters that a znode
can't carry are escaped there (`coordination.layout.escape`: %XX per byte of UTF-8), those that a topic can't carry
become `_` there; what nothing can carry, or what reads as something else (control characters, `.`, `..`), is refused.
"""

from __future__ import annotations

import re
import unicodedata

from replicator.errors import ConfigError

MAX_NAME = 100
_TEMPLATE = re.compile(r"(?:[A-Za-z0-9._-]|\{(?:task|database|table)\})+")


def check_task_name(name: str) -> str:
    """The name itself. Raises ConfigError E1007."""
    wanted = f"1 to {MAX_NAME} characters, for instance copy_hot_item"
    if not name or name.isspace():
        raise ConfigError("E1007", "the task name is empty", found=repr(name), wanted=wanted)
    if len(name) > MAX_NAME:
        raise ConfigError("E1007", "the task name is too long", found=f"{len(name)} characters", wanted=wanted)
    if name in (".", ".."):
        raise ConfigError("E1007", "a task can't be named . or ..", found=repr(name), wanted=wanted)
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp", "Cn", "Co", "Cf") for char in name):
        raise ConfigError("E1007", "the task name contains control characters", found=ascii(name), wanted=wanted)
    return name


def check_topic(template: str) -> str:
    """The template itself. Raises ConfigError E1003 for fields that are not known and characters that Kafka refuses."""
    wanted = "letters, digits, . _ - and the fields {task} {database} {table}"
    if not _TEMPLATE.fullmatch(template):
        unknown = re.sub(r"[A-Za-z0-9._-]|\{(?:task|database|table)\}", "", template)
        raise ConfigError("E1003", "invalid topic template", found=repr(unknown[:60] or template), wanted=wanted)
    if template in (".", "..") or len(template) > 249:
        raise ConfigError(
            "E1003", "the topic name is too long for Kafka", found=repr(template[:60]), wanted="up to 249 characters"
        )
    return template


def check_task_topic(template: str) -> str:
    """As `check_topic`, for one topic of the whole task."""
    check_topic(template)
    if "{database}" in template or "{table}" in template:
        wanted = "letters, digits, . _ - and the field {task}: there is one such topic for all tables"
        raise ConfigError("E1003", "invalid topic template", found=repr(template[:60]), wanted=wanted)
    return template
