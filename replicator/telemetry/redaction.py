"""Replaces what looks like a secret in values and texts."""

from __future__ import annotations

import re
from typing import Any, Final

MASK: Final = "***"
_REFERENCES: Final = ("env:", "file:", "command:")
_NAMED: Final = re.compile(
    r"passw|secret|token|credential|passphrase|api_?key|private_?key|access_?key|\bsasl_jaas", re.I
)
_IN_TEXT: Final = (
    (re.compile(r"(://[^\s/:@'\"]*:)[^\s/@'\"]+(?=@)"), rf"\1{MASK}"),
    (re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.I), rf"\1 {MASK}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
    (re.compile(r"\brepl_[A-Za-z0-9]+_[A-Za-z0-9_-]{16,}"), MASK),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S), MASK),
    (re.compile(r"\bsealed:[^\s\"',]+"), f"sealed:{MASK}"),
    (
        re.compile(
            r"((?:passw(?:or)?d|secret|token|credentials?|passphrase|api_?key)[\"']?\s*[=:]\s*[\"']?)"
            r"(?!env:|file:|command:|sealed:|\*\*\*|null\b|None\b)[^\s\"',;&}]+",
            re.I,
        ),
        rf"\1{MASK}",
    ),
)


def redacted(value: Any, name: str = "") -> Any:
    """A value of JSON without secrets. `name`: of the key that it is under. References to secrets stay."""
    if isinstance(value, dict):
        return {key: redacted(each, key) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(each, name) for each in value]
    if not isinstance(value, str):
        return value
    if _NAMED.search(name) and value and not value.startswith(_REFERENCES):
        return MASK
    return redacted_text(value)


def redacted_text(text: str) -> str:
    for pattern, instead in _IN_TEXT:
        text = pattern.sub(instead, text)
    return text
