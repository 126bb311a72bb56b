"""Where messages of alerts go, and which alerts a route takes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.alerts.evaluation import Active

Kind: TypeAlias = Literal["webhook", "slack", "pagerduty", "email"]
KINDS: Final[tuple[Kind, ...]] = ("webhook", "slack", "pagerduty", "email")
Secret: TypeAlias = str
"""`env:NAME` or `file:PATH`."""


class Http(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        url: literal, or a reference where the address is a secret.
        key: of PagerDuty: the routing key; of a webhook: the bearer token, "" for none. A reference.
        ca_file: authorities that the certificate may be of; "" for those of the system.
    """

    url: str
    key: Secret = ""
    ca_file: str = ""


class Email(msgspec.Struct, frozen=True, kw_only=True):
    """tls: "starttls", "tls" from the first byte, or "none". user, password: both or none."""

    host: str
    port: int
    tls: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password: Secret = ""
    sender: str
    to: tuple[str, ...]
    ca_file: str = ""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        match: label -> values, of which the alert has to have one. See `labels_of`.
        goes_on: the routes after it are tried, too.
        group_by: labels; alerts that have the same ones come in one message.
        group_wait_s: before the first message of a group; group_interval_s: before one with changes; repeat_s: before
            the same one again.
        send_resolved: whether a message says that alerts have ended.
    """

    name: str
    kind: Kind
    to: Http | Email
    match: dict[str, tuple[str, ...]] = {}
    goes_on: bool = False
    group_by: tuple[str, ...] = ("rule",)
    group_wait_s: int = 30
    group_interval_s: int = 300
    repeat_s: int = 14_400
    send_resolved: bool = True


def labels_of(alert: Active) -> dict[str, str]:
    """What routes match and group by: the labels of the task and of the rule, and what the alert is."""
    own = {"rule": alert.rule, "severity": alert.severity, "of": alert.of, "name": alert.name}
    return {**alert.labels, **own, **({alert.of: alert.name} if alert.of in ("task", "machine") else {})}


def routes_for(labels: Mapping[str, str], routes: Iterable[Route]) -> list[Route]:
    """The first one that matches, and as long as those that match go on, further ones."""
    found = []
    for route in routes:
        if all(labels.get(key, "") in values for key, values in route.match.items()):
            found.append(route)
            if not route.goes_on:
                break
    return found


def shown_address(route: Route) -> str:
    """Where it goes, without what could be a secret: paths and queries of URLs are left out."""
    to = route.to
    if isinstance(to, Email):
        return f"{', '.join(to.to)} by {to.host}:{to.port}"
    if not to.url.startswith(("http://", "https://")):
        return to.url
    scheme, _, rest = to.url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"
