"""Reads the routes of a Monitor from YAML.

defaults: {group_by: [rule], group_wait: 30s, group_interval: 5m, repeat_interval: 4h}
routes:
  - name: on-call
    match: {severity: critical}
    continue: true
    pagerduty: {routing_key: "file:/etc/mysql-replicator/pagerduty-key"}
  - name: team
    match: {severity: [critical, warning], team: orders}
    slack: {url: "env:SLACK_URL"}
  - name: mail
    email: {host: smtp.example.com, from: bus@example.com, to: [ops@example.com]}
"""

from __future__ import annotations

from email.utils import parseaddr
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from replicator.alerts.durations import seconds
from replicator.alerts.route import KINDS, Email, Http, Kind, Route
from replicator.alerts.rule_file import NAME, content
from replicator.config.text import Document, parse
from replicator.errors import ConfigError, ProcessError

PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"
_TIMES: Final = {"group_wait": "group_wait_s", "group_interval": "group_interval_s", "repeat_interval": "repeat_s"}
_COMMON: Final = ("group_by", *_TIMES, "send_resolved")
_KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "webhook": ("url", "token", "ca_file"),
    "slack": ("url", "ca_file"),
    "pagerduty": ("routing_key", "url", "ca_file"),
    "email": ("host", "port", "tls", "user", "password", "from", "to", "ca_file"),
}
_PORTS: Final = {"starttls": 587, "tls": 465, "none": 25}
MOST: Final = 100


def load(path: Path) -> tuple[Route, ...]:
    """Raises ProcessError E5181, E5182."""
    return routes(content(path), str(path))


def routes(text: str | bytes, origin: str) -> tuple[Route, ...]:
    """Raises ProcessError E5182."""
    try:
        document = parse(text)
    except ConfigError as error:
        raise ProcessError("E5182", f"{origin}: {error.what}", found=error.found, wanted=error.wanted) from None
    return _Reader(document, origin).routes()


class _Reader:
    def __init__(self, document: Document, origin: str) -> None:
        self._document = document
        self._origin = origin

    def routes(self) -> tuple[Route, ...]:
        data = self._mapping(self._document.data, (), ("defaults", "routes"))
        defaults = self._mapping(data.get("defaults") or {}, ("defaults",), _COMMON)
        common = self._settings(defaults, ("defaults",), {})
        given = data.get("routes")
        if not isinstance(given, list) or not given or len(given) > MOST:
            self._refuse(("routes",), "no list of routes", f"routes: a list of 1 to {MOST}")
        found: dict[str, Route] = {}
        for number, item in enumerate(given):
            route = self._route(item, ("routes", number), common)
            if route.name in found:
                self._refuse(("routes", number), f"two routes with the name {route.name}", "each name once")
            found[route.name] = route
        return tuple(found.values())

    def _route(self, item: Any, at: tuple[str | int, ...], common: dict[str, Any]) -> Route:
        data = self._mapping(item, at, ("name", "match", "continue", *_COMMON, *KINDS))
        name = data.get("name")
        if not isinstance(name, str) or NAME.fullmatch(name.replace("-", "_")) is None:
            self._refuse((*at, "name"), f"the name {name!r}"[:100], "a letter, then letters, digits, _ and -")
        kinds = [kind for kind in KINDS if kind in data]
        if len(kinds) != 1:
            self._refuse(at, f"{name} with {' and '.join(kinds) or 'no receiver'}", f"one of {', '.join(KINDS)}")
        kind = kinds[0]
        receiver = self._mapping(data[kind], (*at, kind), _KEYS[kind])
        to = self._email(receiver, (*at, kind)) if kind == "email" else self._http(kind, receiver, (*at, kind))
        settings = self._settings({key: data[key] for key in _COMMON if key in data}, at, common)
        goes_on = self._flag(data, at, "continue", default=False)
        return Route(name=name, kind=kind, to=to, match=self._match(data, at), goes_on=goes_on, **settings)

    def _settings(self, data: dict[str, Any], at: tuple[str | int, ...], base: dict[str, Any]) -> dict[str, Any]:
        found = dict(base)
        for key, field in _TIMES.items():
            if key in data:
                try:
                    found[field] = seconds(data[key])
                except ValueError as error:
                    self._refuse((*at, key), f"{key}: {str(data[key])[:80]}", str(error))
        if found.get("repeat_s", 1) == 0:
            self._refuse((*at, "repeat_interval"), "repeat_interval: 0s", "a time above 0")
        if "group_by" in data:
            labels = data["group_by"]
            if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
                self._refuse((*at, "group_by"), "group_by that is no list of labels", "such as [rule, task]")
            found["group_by"] = tuple(labels)
        if "send_resolved" in data:
            found["send_resolved"] = self._flag(data, at, "send_resolved", default=True)
        return found

    def _match(self, data: dict[str, Any], at: tuple[str | int, ...]) -> dict[str, tuple[str, ...]]:
        given = data.get("match") or {}
        if not isinstance(given, dict):
            self._refuse((*at, "match"), "match that is no mapping", "such as {severity: critical}")
        found = {}
        for key, value in given.items():
            values = value if isinstance(value, list) else [value]
            if not values or not all(isinstance(each, str) for each in values):
                self._refuse((*at, "match", key), f"{key}: {str(value)[:80]}", "a text, or a list of texts")
            found[key] = tuple(values)
        return found

    def _http(self, kind: Kind, data: dict[str, Any], at: tuple[str | int, ...]) -> Http:
        url = self._text(data, at, "url", PAGERDUTY if kind == "pagerduty" else None)
        if not is_reference(url):
            self._check_url(url, (*at, "url"))
        key = {"pagerduty": "routing_key", "webhook": "token"}.get(kind, "")
        secret = self._secret(data, at, key, required=kind == "pagerduty") if key else ""
        return Http(url=url, key=secret, ca_file=self._text(data, at, "ca_file", ""))

    def _check_url(self, url: str, at: tuple[str | int, ...]) -> None:
        try:
            parts = urlsplit(url)
            valid = (
                parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
            )
        except ValueError:
            valid = False
        if not valid or not url.isprintable() or " " in url:
            self._refuse(at, "a URL that is not valid", "https://HOST/..., or a reference such as env:NAME")
        if parts.username or parts.password:
            self._refuse(at, "a password in the URL", "a reference: url: file:/path")

    def _email(self, data: dict[str, Any], at: tuple[str | int, ...]) -> Email:
        tls = data.get("tls", "starttls")
        if tls not in _PORTS:
            self._refuse((*at, "tls"), f"tls: {str(tls)[:40]}", "starttls, tls or none")
        port = data.get("port", _PORTS[tls])
        if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536:
            self._refuse((*at, "port"), f"port: {str(port)[:40]}", "1 to 65535")
        user, password = self._text(data, at, "user", ""), self._secret(data, at, "password", required=False)
        if bool(user) != bool(password):
            self._refuse(at, "a user without a password, or the other way round", "both, or neither")
        if password and tls == "none":
            self._refuse((*at, "tls"), "a password without TLS", "tls: starttls or tls")
        to = data.get("to")
        addresses = [to] if isinstance(to, str) else to
        if not isinstance(addresses, list) or not addresses:
            self._refuse((*at, "to"), "no addresses", "to: [ops@example.com]")
        sender = self._text(data, at, "from", None)
        for address in (sender, *addresses):
            if not isinstance(address, str) or "@" not in parseaddr(address)[1] or not address.isprintable():
                self._refuse(at, f"the address {str(address)[:80]}", "NAME@DOMAIN")
        host, ca_file = self._text(data, at, "host", None), self._text(data, at, "ca_file", "")
        return Email(
            host=host, port=port, tls=tls, user=user, password=password, sender=sender, to=tuple(addresses),
            ca_file=ca_file,
        )  # fmt: skip

    def _secret(self, data: dict[str, Any], at: tuple[str | int, ...], key: str, *, required: bool) -> str:
        text = self._text(data, at, key, None if required else "")
        if text and not is_reference(text):
            # What was given may be the secret itself, and is not repeated.
            self._refuse((*at, key), f"{key} with a literal value", "a reference: env:NAME or file:/path")
        return text

    def _text(self, data: dict[str, Any], at: tuple[str | int, ...], key: str, default: str | None) -> str:
        text = data.get(key, default)
        if text is None or (default is None and not text):
            self._refuse((*at, key), f"no {key}", f"the key {key}")
        if not isinstance(text, str) or len(text) > 2000:
            self._refuse((*at, key), f"{key} that is no text", "a text")
        return text

    def _flag(self, data: dict[str, Any], at: tuple[str | int, ...], key: str, *, default: bool) -> bool:
        value = data.get(key, default)
        if not isinstance(value, bool):
            self._refuse((*at, key), f"{key}: {str(value)[:40]}", "true or false")
        return value

    def _mapping(self, data: Any, at: tuple[str | int, ...], keys: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(data, dict):
            self._refuse(at, "something else than a mapping", f"the keys {', '.join(keys)}")
        for key in data:
            if key not in keys:
                self._refuse((*at, key), f"the key '{key}'"[:80], ", ".join(keys))
        return data

    def _refuse(self, path: tuple[str | int, ...], found: str, wanted: str) -> NoReturn:
        line = self._document.line_of(path)
        where = f"{self._origin}, line {line}" if line else self._origin
        raise ProcessError("E5182", f"{where}: a route of alerts is not valid", found=found, wanted=wanted)


def is_reference(text: str) -> bool:
    return text.startswith(("env:", "file:/"))
