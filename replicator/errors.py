"""The exception classes. Every error that users see has a code of `replicator.codes` and says what was found, what is
expected, and how to correct it.

    ReplicatorError
    ├── ConfigError              E1xxx  a configuration that can't be used
    │   └── SecretUnavailable           transient: a program that prints a secret has failed
    ├── SourceError              E2xxx  MySQL/MariaDB, its account, its settings, its binlog
    │   ├── SourceUnavailable           transient: not reachable, connection lost, server restarting
    │   │   └── SessionRenewed          nothing is wrong: the next session goes on where this one ends
    │   ├── PositionGone                the binlog behind the position will never be there again
    │   ├── TableMissing                a table that is needed is not there
    │   └── DecodeError                 bytes of the binlog that we can't read or may not skip
    ├── SinkError                E3xxx  Kafka, files: refuses what we send
    │   ├── SinkUnavailable             transient: broker away, timeout, outcome of a commit unknown
    │   └── SinkFenced                  a later term has taken over at the sink
    │       └── UnknownTerm             the sink's position is of a term that ZooKeeper does not know
    ├── RegistryError            E33xx  the schema registry: refuses us or a schema
    │   └── RegistryUnavailable         transient: not reachable, or not able to answer now
    ├── CoordinationError        E4xxx  ZooKeeper and what stands in it
    │   ├── NotConnected                transient: the request was refused or its outcome is unknown
    │   │   └── SessionLost             the session and every ephemeral node of it are gone
    │   ├── NodeMissing
    │   ├── NodeExists
    │   ├── VersionConflict             another process wrote first
    │   ├── PositionBehind              the position of a task would move back; nothing was written
    │   └── LeadershipLost              our own znode or lease is gone: emit nothing more
    └── ProcessError             E5xxx  our own processes, ports, files, the command line

`transient` tells the supervisor whether trying again by itself makes sense. Everything else stops the task as FAILED.
"""

from __future__ import annotations

from typing import Any, ClassVar

from replicator.codes import CODES


class ReplicatorError(Exception):
    """An error for people: `E2104 source: what. Found: ... Wanted: ... Fix: ...`.

    Args:
        code: a key of `replicator.codes.CODES`.
        what: the sentence that says what is wrong, without a full stop.
        found: what was seen.
        wanted: what should be there.
        fix: the statement, option or command that corrects it.
        position: where in the source it happened (`binlog.000003:4711` or a GTID), if anywhere.
        table: `database.table` that it is of, if it is of one table alone.
        transaction: of the source's log that could not be delivered, if it is of one alone: its GTID, or `file:offset`
            of its first event.
        transaction_end: `file:offset` behind that transaction, "" where it is not known.
    """

    transient: ClassVar[bool] = False

    def __init__(
        self,
        code: str,
        what: str,
        *,
        found: str = "",
        wanted: str = "",
        fix: str = "",
        position: str = "",
        table: str = "",
        transaction: str = "",
        transaction_end: str = "",
    ) -> None:
        entry = CODES[code]
        self.code = code
        self.area = entry.area
        self.what = plain(what)
        self.found = plain(found)
        self.wanted = plain(wanted)
        self.fix = fix or entry.remedy
        self.position = position
        self.table = table
        self.transaction = transaction
        self.transaction_end = transaction_end
        super().__init__(str(self))

    def __str__(self) -> str:
        parts = [f"{self.code} {self.area}: {self.what}."]
        if self.position:
            parts.append(f"At: {self.position}.")
        if self.found:
            parts.append(f"Found: {self.found}.")
        if self.wanted:
            parts.append(f"Wanted: {self.wanted}.")
        if self.fix:
            parts.append(f"Fix: {self.fix}")
        return " ".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel from worker to Core by pipe; the default pickling would lose the keywords."""
        return (_rebuild, (type(self), self.to_dict()))

    def to_dict(self) -> dict[str, str]:
        """The form that stands in znodes, in the HTTP API and in `-o json`."""
        fields = {
            "code": self.code,
            "what": self.what,
            "found": self.found,
            "wanted": self.wanted,
            "fix": self.fix,
            "position": self.position,
        }
        rest = {"table": self.table, "transaction": self.transaction, "transaction_end": self.transaction_end}
        return {**fields, **{key: text for key, text in rest.items() if text}}


def plain(text: str) -> str:
    """Without what moves a terminal's cursor, turns the direction of writing or can't be encoded: errors quote servers,
    brokers and files."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)


def _rebuild(kind: type[ReplicatorError], fields: dict[str, str]) -> ReplicatorError:
    code, what = fields["code"], fields["what"]
    rest = {key: value for key, value in fields.items() if key not in ("code", "what")}
    return kind(code, what, **rest)


class ConfigError(ReplicatorError):
    pass


class SecretUnavailable(ConfigError):
    transient = True


class SourceError(ReplicatorError):
    pass


class SourceUnavailable(SourceError):
    transient = True


class SessionRenewed(SourceUnavailable):
    pass


class PositionGone(SourceError):
    pass


class TableMissing(SourceError):
    pass


class DecodeError(SourceError):
    pass


class SinkError(ReplicatorError):
    pass


class SinkUnavailable(SinkError):
    transient = True


class SinkFenced(SinkError):
    pass


class UnknownTerm(SinkFenced):
    epoch: int = 0
    """Of the term that wrote the position. It does not travel with the error."""


class RegistryError(ReplicatorError):
    pass


class RegistryUnavailable(RegistryError):
    transient = True


class CoordinationError(ReplicatorError):
    pass


class NotConnected(CoordinationError):
    transient = True


class SessionLost(NotConnected):
    pass


class NodeMissing(CoordinationError):
    pass


class NodeExists(CoordinationError):
    pass


class VersionConflict(CoordinationError):
    pass


class PositionBehind(CoordinationError):
    """E4012: a write would move the position of a task back."""


class LeadershipLost(CoordinationError):
    pass


class ProcessError(ReplicatorError):
    pass
