"""The request to the API that does the same as a command that a page shows. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from monitor.commands import curl, segment
from replicator.alerts import durations

_FLAGS: Final = frozenset({"--list", "--release", "--dry-run", "--via-core", "--maintenance", "--all"})


class _Words(NamedTuple):
    """names: what is neither a verb nor an option."""

    names: list[str]
    options: dict[str, str]

    def only(self, *, names: int = 1, options: frozenset[str] = frozenset()) -> bool:
        return len(self.names) == names and self.options.keys() <= options

    def body(self, *keys: str) -> dict[str, str]:
        return {key: self.options[f"--{key}"] for key in keys if f"--{key}" in self.options}


class _Request(NamedTuple):
    """path: below /api/v1, with the query; body: None: without one."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None


def _task(words: _Words, rest: str = "", query: str = "") -> str:
    return f"/tasks/{segment(words.names[0])}{rest}{query and '?'}{query}"


def _read(rest: str) -> Callable[[_Words], _Request | None]:
    return lambda words: _Request("GET", _task(words, rest)) if words.only() else None


def _order(verb: str) -> Callable[[_Words], _Request | None]:
    def request(words: _Words) -> _Request | None:
        if not words.only(options=frozenset({"--to", "--reason"})):
            return None
        return _Request("POST", _task(words, verb), words.body("to", "reason"))

    return request


def _resume(words: _Words) -> _Request | None:
    if "--maintenance" not in words.options:
        return _order("/resume")(words)
    if words.only(names=0, options=frozenset({"--maintenance", "--all"})) and "--all" in words.options:
        return _Request("POST", "/maintenance", {"on": "false"})
    if words.only(options=frozenset({"--maintenance"})):
        return _Request("POST", _task(words, "/maintenance"), {"on": "false"})
    return None


def _difference(words: _Words) -> _Request | None:
    if words.options or len(words.names) not in (1, 3):
        return None
    versions = words.names[1:]
    return _Request("GET", _task(words, "/diff", urlencode(dict(zip(("from", "to"), versions, strict=False)))))


def _position(words: _Words) -> _Request | None:
    if not words.only(options=frozenset({"--at", "--dry-run"})) or "--at" not in words.options:
        return None
    query = "dry_run=true" if "--dry-run" in words.options else ""
    return _Request("POST", _task(words, "/position", query), words.body("at"))


def _fork(words: _Words) -> _Request | None:
    if not words.only(names=2, options=frozenset({"--at"})):
        return None
    return _Request("POST", _task(words, "/fork"), {"name": words.names[1], **words.body("at")})


def _quarantine(words: _Words) -> _Request | None:
    if words.only(options=frozenset({"--list"})):
        return _Request("GET", _task(words))
    if not words.only(names=2, options=frozenset({"--release"})):
        return None
    release = {"release": "true"} if "--release" in words.options else {}
    return _Request("POST", _task(words, "/quarantine"), {"table": words.names[1], **release})


def _replay(words: _Words) -> _Request | None:
    return _Request("POST", _task(words, "/replay"), {"table": words.names[1]}) if words.only(names=2) else None


def _check(words: _Words) -> _Request | None:
    if not words.options or not words.only(options=frozenset({"--via-core"})):
        return None  # without --via-core it is checked from where the command runs
    return _Request("POST", _task(words, "/check"), {})


def _of(folder: str) -> Callable[[_Words], _Request | None]:
    return lambda words: _Request("GET", f"/{folder}/{segment(words.names[0])}") if words.only() else None


def _drain(verb: str) -> Callable[[_Words], _Request | None]:
    return lambda words: _Request("POST", f"/machines/{segment(words.names[0])}/{verb}", {}) if words.only() else None


def _address(words: _Words) -> _Request | None:
    parts = words.names[0].split("/") if words.only() else []
    return _Request("GET", f"/addresses/{'/'.join(map(segment, parts))}") if len(parts) == 2 else None


def _silence(words: _Words) -> _Request | None:
    if not words.only(options=frozenset({"--task", "--machine", "--for", "--reason"})):
        return None
    try:
        seconds = durations.seconds(words.options.get("--for"))
    except ValueError:
        return None
    body = {"rule": words.names[0], **words.body("task", "machine"), "seconds": seconds, **words.body("reason")}
    return _Request("POST", "/alerts/silences", body)


def _unsilence(words: _Words) -> _Request | None:
    return _Request("DELETE", f"/alerts/silences/{quote(words.names[0], safe='')}") if words.only() else None


_REQUESTS: Final[dict[str, Callable[[_Words], _Request | None]]] = {
    "task get": lambda words: _Request("GET", "/tasks") if words.only(names=0) else None,
    "task describe": _read(""),
    "task history": _read("/history"),
    "task versions": _read("/versions"),
    "task diff": _difference,
    "task position history": _read("/positions"),
    "task position set": _position,
    "task snapshot status": _read(""),
    "task retry": _order("/retry"),
    "task pause": _order("/pause"),
    "task resume": _resume,
    "task restart": _order("/restart"),
    "task switchover": _order("/switchover"),
    "task fork": _fork,
    "task quarantine": _quarantine,
    "task replay": _replay,
    "check": _check,
    "machine get": lambda words: _Request("GET", "/machines") if words.only(names=0) else None,
    "machine describe": _of("machines"),
    "machine drain": _drain("drain"),
    "machine undrain": _drain("undrain"),
    "group describe": _of("groups"),
    "ddns get": _address,
    "alert silence": _silence,
    "alert unsilence": _unsilence,
}
"""Verbs of the command line -> the request; None where the words ask for more than one request does."""


@lru_cache(maxsize=4096)
def curl_of(text: str) -> str:
    """
    Args:
        text: a command line, quoted for a shell.

    Returns:
        The same with curl; "" where the API has no such request, or it takes several.
    """
    try:
        given = shlex.split(text)
    except ValueError:
        return ""
    for length in (3, 2, 1):
        of_words = _REQUESTS.get(" ".join(given[1 : 1 + length]))
        if given[:1] == ["replicator"] and of_words is not None:
            request = of_words(_words(given[1 + length :]))
            return curl(*request) if request is not None else ""
    return ""


def _words(given: list[str]) -> _Words:
    found = _Words([], {})
    rest = iter(given)
    for word in rest:
        if word == "--":
            found.names.extend(rest)
        elif word.startswith("--"):
            found.options[word] = "" if word in _FLAGS else next(rest, "")
        else:
            found.names.append(word)
    return found
