"""The last log lines of the processes of the bus, on all hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from replicator.cli.bundle.archive import BundleFile
from replicator.cli.bundle.parts import Parts, ProcessLine
from replicator.coordination.layout import escape
from replicator.coordination.logs.nodes import MOST_TARGETS
from replicator.errors import ReplicatorError

MOST_PROCESSES: Final = 128
_MEANING: Final = "Last log lines of the {kind} on {name}, which were in its memory."


def add_log_lines(bundle: BundleFile, parts: Parts, hosts: Sequence[str], histories: Sequence[Any]) -> None:
    """
    Args:
        hosts: only of these; empty for all.
        histories: of tasks; hosts that are in one and not online are noted.
    """
    try:
        online = parts.processes()
    except ReplicatorError as error:
        bundle.note("logs", error)
        return
    for host in _away(online, hosts, histories):
        bundle.remark(f"logs of {host}: no Core of this host is online; look at its log there")
    wanted = [one for one in online if not hosts or _host(one.name) in hosts or one.name in hosts]
    for one in wanted[MOST_PROCESSES:]:
        bundle.remark(
            f"{_file(one)}: left out, the bundle has lines of at most {MOST_PROCESSES} processes; give --host"
        )
    wanted = wanted[:MOST_PROCESSES]
    for at in range(0, len(wanted), MOST_TARGETS):
        if not _add(bundle, parts, wanted[at : at + MOST_TARGETS]):
            return


def _add(bundle: BundleFile, parts: Parts, wanted: Sequence[ProcessLine]) -> bool:
    """False when further ones would fail, too."""
    try:
        found = parts.lines([one.id for one in wanted if one.id])
    except ReplicatorError as error:
        bundle.note("logs", error)
        return False
    for one in wanted:
        if one.id not in found:
            bundle.remark(f"{_file(one)}: the {one.kind} on {one.name}, pid {one.pid}, has not sent its lines in time")
            continue
        bundle.add(_file(one), _MEANING.format(kind=one.kind, name=one.name), partial(str, found[one.id]))
    return True


def _file(one: ProcessLine) -> str:
    return f"logs/{one.kind}-{escape(one.name)}-{one.pid}.log"


def _host(name: str) -> str:
    """`HOST~xxxx` is a second Core of a host."""
    return name.rpartition("~")[0] or name


def _away(online: Sequence[ProcessLine], hosts: Sequence[str], histories: Sequence[Any]) -> list[str]:
    known = {_host(one.name) for one in online}
    named = {_host(str(host)) for history in histories for host in _hosts(history)} if not hosts else set(hosts)
    return sorted(named - known - {""})


def _hosts(value: Any) -> Iterator[str]:
    """In the entries of a history, of ZooKeeper or of a Server."""
    if isinstance(value, dict):
        yield from (str(each) for key, each in value.items() if key == "host")
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _hosts(each)
