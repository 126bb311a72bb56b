"""Selects one of several servers of a replication group: the one in use comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from replicator.config.addresses import addresses
from replicator.config.database_server import DEFAULT_ADDRESS, DatabaseServer
from replicator.errors import ConfigError, PositionGone, ReplicatorError
from replicator.mysql.sides import side_of

T = TypeVar("T")
Config = TypeVar("Config", bound=DatabaseServer)


def candidates(config: Config) -> list[Config]:
    """The configuration once for each server, with its own host and port: what a session is made of.

    Raises ConfigError E4104 for an address of the book, which has to be replaced by what it stands for.
    """
    if config.address is not None:
        raise ConfigError("E4104", f"{config.section}.address is not resolved", found=config.address)
    if not config.hosts:
        host, port = DEFAULT_ADDRESS
        return [config.model_copy(update={"host": config.host or host, "port": config.port or port})]
    return [config.model_copy(update={"host": host, "port": port}) for host, port in addresses(config.hosts)]


class Hosts(Generic[Config]):
    """Args:
    config: with `hosts`, or with one `host`.
    again: nobody waits for a server that may still have what those have purged that answer.
    """

    def __init__(self, config: Config, *, again: bool = False) -> None:
        self._members = candidates(config)
        self._again = again

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
        raise _joined(errors, again=self._again)


def _joined(errors: list[tuple[Config, ReplicatorError]], *, again: bool) -> ReplicatorError:
    member, first = errors[0]
    side = side_of(member.section)
    if len(errors) == 1:
        return first
    said = "; ".join(f"{one.host}:{one.port}: {error.code} {error.what}" for one, error in errors)
    refusals = [error for _, error in errors if not error.transient]
    gone = all(isinstance(error, PositionGone) for error in refusals)
    if refusals and gone and (again or len(refusals) == len(errors)):
        fields = {**refusals[0].to_dict(), "found": said}
        return PositionGone(fields.pop("code"), fields.pop("what"), **fields)
    if len(refusals) < len(errors):
        return side.away(
            side.unreachable, f"none of the {len(errors)} servers can be used", found=said, wanted=side.wanted
        )
    fields = {**first.to_dict(), "found": said}
    return side.refused(fields.pop("code"), fields.pop("what"), **fields)
