"""Selects the server to read from among several servers of one replication group.

The one in use comes first. Another one is taken only when it is writable and has executed everything that the task has
delivered, so that nothing is skipped and nothing of a lost branch is mixed with what replaced it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from replicator.config.addresses import addresses
from replicator.config.task import DEFAULT_ADDRESS
from replicator.config.task import MySQLSource as Config
from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.source.mysql.server import Server

T = TypeVar("T")


def candidates(config: Config) -> list[Config]:
    """The configuration once for each server, with its own host and port: what a session is made of."""
    if not config.hosts:
        host, port = DEFAULT_ADDRESS
        return [config.model_copy(update={"host": config.host or host, "port": config.port or port})]
    return [config.model_copy(update={"host": host, "port": port}) for host, port in addresses(config.hosts)]


def check_member(server: Server, config: Config) -> None:
    """Whether this one of several may be read from.

    Raises:
        SourceError: E2210, without GTIDs the positions of two servers can't be told apart.
        SourceUnavailable: E2001, it is a replica for now.
    """
    if len(config.hosts) < 2:
        return
    if not server.gtid:
        raise SourceError(
            "E2210",
            f"{config.host}:{config.port} has no GTIDs: a position in its files is not valid on another server",
            found=f"gtid_mode = {server.get('gtid_mode') or 'none'}",
            wanted="gtid_mode = ON on all of `source.hosts`",
            fix="SET PERSIST gtid_mode = ON step by step, or set a single server with `source.host`.",
        )
    if server.get("read_only") == "ON":
        raise SourceUnavailable(
            "E2001",
            f"{config.host}:{config.port} is not the primary",
            found="read_only = ON",
            wanted="one of `source.hosts` that is writable",
        )


class Hosts:
    """Args:
    config: with `hosts`, or with one `host`.
    """

    def __init__(self, config: Config) -> None:
        self._members = candidates(config)

    @property
    def current(self) -> Config:
        return self._members[0]

    def first(self, attempt: Callable[[Config], T]) -> T:
        """What `attempt` gives for the first server that takes it; that one is asked first from now on.

        Raises what the only server says; with several SourceUnavailable when one of them may come back, else the
        refusal of the one that was in use, with those of the others.
        """
        errors: list[tuple[Config, ReplicatorError]] = []
        for member in list(self._members):
            try:
                result = attempt(member)
            except ReplicatorError as error:
                errors.append((member, error))
                continue
            self._members.remove(member)
            self._members.insert(0, member)
            return result
        raise _joined(errors)


def _joined(errors: list[tuple[Config, ReplicatorError]]) -> ReplicatorError:
    _, first = errors[0]
    if len(errors) == 1:
        return first
    said = "; ".join(f"{member.host}:{member.port}: {error.code} {error.what}" for member, error in errors)
    if any(error.transient for _, error in errors):
        return SourceUnavailable(
            "E2001",
            f"none of the {len(errors)} servers can be read",
            found=said,
            wanted="a writable server with all transactions that this task has delivered",
        )
    fields = {**first.to_dict(), "found": said}
    return SourceError(fields.pop("code"), fields.pop("what"), **fields)
