"""What is wrong with machines, Servers, addresses of the book and the cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from monitor.formatting import duration
from monitor.problems.finding import Finding
from monitor.task_state import CERTIFICATE_WARN_S, TROUBLE
from monitor.view import AddressView, MachineView, ServerView, View

OFFLINE = 48


def of_others(view: View, now_ms: int) -> Iterator[Finding]:
    if view.maintenance is not None:
        held = view.maintenance
        yield Finding(
            kind="maintenance of all",
            severity=TROUBLE["maintenance"],
            subject="cluster",
            name="The cluster",
            one="is in maintenance",
            many="are in maintenance",
            cause=": ".join(part for part in (f"by {held.by}" if held.by else "", held.reason) if part),
            since_ms=held.since_ms,
            effect="RUNNING tasks continue, but no standby is promoted when their Core fails.",
            command="replicator task resume --maintenance --all",
        )
    quiet = {task.host for task in view.tasks if task.figures_old}
    for machine in view.machines:
        yield from _machine(machine, reported=machine.host in quiet)
    used = " ".join(f"{task.source} {task.destination}" for task in view.tasks)
    yield from _addresses(view.addresses, used)
    for server in view.servers:
        yield from _server(server, now_ms)


def _machine(machine: MachineView, *, reported: bool) -> Iterator[Finding]:
    """`reported`: tasks on it have a line that names it."""
    if machine.state == "offline":
        yield Finding(
            kind="offline",
            severity=OFFLINE,
            subject="machine",
            name=machine.host,
            one="is offline: it is expected and not there",
            many="are offline: they are expected and not there",
            since_ms=machine.since_ms,
            effect="Standbys have taken over its tasks where there were any; it is no standby itself.",
            todo="Start its Core or agent; forget a machine that does not return: replicator machine unexpect.",
            command="replicator machine get",
        )
    elif machine.state == "silent" and not reported:
        yield Finding(
            kind="silent machine",
            severity=TROUBLE["no report"],
            subject="machine",
            name=machine.host,
            one="does not report",
            many="do not report",
            effect="What its tasks do is not known; standbys take over when its session expires.",
            todo="Look at the load and the log of its Core.",
            command="replicator machine get",
        )


def _addresses(addresses: Iterable[AddressView], used: str) -> Iterator[Finding]:
    """Those that a task in the view uses: a login may not see the others."""
    for one in addresses:
        if one.answers is False and f"ddns:{one.name}" in used.replace(",", " ").split():
            yield Finding(
                kind="address",
                severity=TROUBLE["address refused"],
                subject="address",
                name=f"ddns:{one.name}",
                one="does not answer",
                many="do not answer",
                cause=f"the address book has {one.address}",
                since_ms=one.since_ms,
                effect="Tasks that use it deliver nothing until it answers, or the book has another address.",
                command=f"replicator ddns set {one.name} HOST:PORT",
            )


def _server(server: ServerView, now_ms: int) -> Iterator[Finding]:
    left = (server.certificate_ms - now_ms) / 1000
    if server.certificate_ms and left < CERTIFICATE_WARN_S:
        end = "has expired" if left <= 0 else f"expires in {duration(left)}"
        yield Finding(
            kind="server certificate",
            severity=TROUBLE["certificate"],
            subject="server",
            name=server.host,
            one=f"has a TLS certificate that {end}",
            many=f"have a TLS certificate that {'has expired' if left <= 0 else 'expires within 14 days'}",
            since_ms=server.certificate_ms if left <= 0 else 0,
            effect="Tasks continue; commands and the API will be refused by clients.",
            todo="Replace its certificate file; the Server loads it without a restart.",
        )
    if server.certificate_problem:
        yield Finding(
            kind="server certificate not loaded",
            severity=TROUBLE["certificate"],
            subject="server",
            name=server.host,
            one="cannot use its changed TLS files and keeps the former certificate",
            many="cannot use their changed TLS files and keep the former certificates",
            effect="Tasks continue; the former certificate expires as it would have.",
            todo="See the log of the Server.",
        )
