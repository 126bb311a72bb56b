"""Checks of `replicator check --zookeeper HOSTS`: connection, negotiated timeout, round trip, position of the task."""

from __future__ import annotations

import contextlib
import time

import msgspec
from kazoo.exceptions import KazooException, NoAuthError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from replicator.codes import CODES
from replicator.coordination.layout import DEFAULT_ROOT, Layout, unescape
from replicator.coordination.ports import DEFAULT_SESSION_TIMEOUT
from replicator.coordination.records import CommitRecord, PurgedRecord, load
from replicator.errors import ConfigError, CoordinationError
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.zookeeper.access import of_environment
from replicator.zookeeper.attempts import UNREACHABLE
from replicator.zookeeper.connection import Client

_PROBES = 30
_MOST_NAMED = 10
_LEASE_CHECKS = 6  # per session timeout: a lease is renewed so often, so one answer has that long at most


class Checked(msgspec.Struct):
    """`position`: of the task's lastCommit; None when it has none."""

    findings: list[Finding]
    position: Position | None = None


def check(
    hosts: str,
    task: str,
    root: str = DEFAULT_ROOT,
    session_timeout: float = DEFAULT_SESSION_TIMEOUT,
    connect_timeout: float = 5.0,
) -> Checked:
    """Asks the ensemble; only reads. Never raises for what it answers. Times in seconds."""
    try:
        client = Client(hosts, session_timeout, of_environment())
    except ConfigError as error:
        return Checked([Finding.of_error("zookeeper.login", error)])
    except ValueError as error:
        fix = "Give --zookeeper as HOST:PORT[,HOST:PORT...]."
        return Checked([Finding("zookeeper.reachable", "fail", f"{hosts}: {error}", "HOST:PORT[,...]", fix)])
    try:
        began = time.monotonic()
        client.start(timeout=connect_timeout)
        found = f"{hosts}, session after {(time.monotonic() - began) * 1000:.0f} ms"
        done = Checked([Finding.ok("zookeeper.reachable", found), _timeout(client, session_timeout)])
        _ask(client, Layout(root), task, done)
        return done
    except (KazooTimeoutError, KazooException) as error:
        why = client.attempts.reasons() if isinstance(error, KazooTimeoutError) else f"{hosts}: {type(error).__name__}"
        refused = client.attempts.code
        fix = "Check --zookeeper and that a majority of the servers runs."
        if isinstance(error, NoAuthError):
            why, refused = f"{hosts}: access to the root is refused", "E4030"
        if refused != UNREACHABLE:
            fix = CODES[refused].remedy
        return Checked([Finding("zookeeper.reachable", "fail", why, "a session", fix)])
    finally:
        with contextlib.suppress(Exception):
            client.stop()
        with contextlib.suppress(Exception):
            client.close()


def _timeout(client: Client, asked: float) -> Finding:
    shown = f"{client.negotiated:g} s negotiated, {asked:g} s asked for"
    if abs(client.negotiated - asked) < 0.001:
        return Finding.ok("zookeeper.session_timeout", shown)
    wanted = "the same: take-over after a crash takes the negotiated time"
    fix = "Change minSessionTimeout / maxSessionTimeout of the ensemble (2 and 20 ticks by default)."
    return Finding("zookeeper.session_timeout", "warn", shown, wanted, fix)


def _ask(client: Client, layout: Layout, task: str, done: Checked) -> None:
    path = layout.last_commit(task)
    took = []
    for _ in range(_PROBES):
        began = time.monotonic()
        client.exists(path)
        took.append(time.monotonic() - began)
    done.findings.append(_round_trip(sorted(took), client.negotiated / _LEASE_CHECKS))
    done.findings += _purged(client, layout.purged_task(task))
    done.findings += _missing(client, layout)
    try:
        data, stat = client.get(path)
        record = load(CommitRecord, data or b"", path)
    except NoNodeError:
        done.findings.append(Finding.ok("zookeeper.last_commit", "the task is new: it begins at its configured start"))
    except CoordinationError as error:
        done.findings.append(Finding.of_error("zookeeper.last_commit", error))
    else:
        done.position = record.checkpoint.position if record.checkpoint else None
        found = f"{done.position or 'no position yet'}, epoch {record.epoch}, written {_age(stat.mtime)} ago"
        done.findings.append(Finding.ok("zookeeper.last_commit", found))


def _missing(client: Client, layout: Layout) -> list[Finding]:
    """Machines that are expected, not there, and have not ended on purpose."""

    def names(path: str) -> set[str]:
        try:
            return {unescape(child) for child in client.get_children(path)}
        except (NoNodeError, NoAuthError):
            return set()

    expected = names(layout.expected)
    there = names(layout.machines) | names(layout.agents)
    offline = sorted(expected - there - names(layout.stopped) - names(layout.stopped_agents))
    if not offline:
        return [Finding.ok("machines.online", f"{len(there)} online, none missing")] if expected else []
    more = f" and {len(offline) - _MOST_NAMED} more" if len(offline) > _MOST_NAMED else ""
    fix = "Start their Cores or agents, or `replicator machine unexpect HOST` for those that do not come back."
    found = f"offline: {', '.join(offline[:_MOST_NAMED])}{more}"
    return [Finding("machines.online", "warn", found, "all machines that are expected", fix)]


def _purged(client: Client, path: str) -> list[Finding]:
    """Nothing where the record is as it should be: most tasks have none."""
    try:
        data, _ = client.get(path)
        record = load(PurgedRecord, data or b"", path)
    except NoNodeError:
        return []
    except CoordinationError as error:
        return [msgspec.structs.replace(Finding.of_error("zookeeper.purged", error), severity="warn")]
    return lost(record, path)


def lost(record: PurgedRecord, path: str) -> list[Finding]:
    """Incarnations that a damaged record had."""
    if not record.lost_ms:
        return []
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(record.lost_ms / 1000))
    found = f"{path} could not be read and was replaced at {when}: tasks purged before are not in it"
    fix = "If the task stops with E3109, set its `source.start` to a position."
    return [Finding("zookeeper.purged", "warn", found, "a record of all tasks of the name that were purged", fix)]


def _round_trip(took: list[float], most: float) -> Finding:
    middle, slowest = took[len(took) // 2] * 1000, took[-1] * 1000
    shown = f"{middle:.1f} ms median, {slowest:.1f} ms slowest of {len(took)}"
    if took[-1] < most:
        return Finding.ok("zookeeper.round_trip", shown)
    wanted = f"under {most * 1000:.0f} ms, a sixth of the session timeout"
    return Finding(
        "zookeeper.round_trip", "warn", shown, wanted, "Move the ensemble nearer or raise the session timeout."
    )


def _age(mtime_ms: int) -> str:
    return f"{max(0.0, time.time() - mtime_ms / 1000):.0f} s"
