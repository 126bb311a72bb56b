"""The figures that conditions of alert rules compare, by what they are about."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

Scope: TypeAlias = Literal["task", "machine", "address", "listener", "monitor", "cluster"]
Kind: TypeAlias = Literal["seconds", "count", "flag", "text"]
Value: TypeAlias = float | bool | str | None
"""None: not known. It is neither 0 nor FALSE."""
SCOPES: Final[dict[Scope, str]] = {
    "task": "each task",
    "machine": "each machine with a Core, but those whose Core has ended on request",
    "address": "each address of the address book that the Server probes",
    "listener": "each Server and this Monitor, where they have a TLS certificate",
    "monitor": "this Monitor; each Monitor sends its own alerts",
    "cluster": "the installation",
}


class Figure(NamedTuple):
    kind: Kind
    meaning: str


FIGURES: Final[dict[Scope, dict[str, Figure]]] = {
    "task": {
        "task": Figure("text", "name of the task"),
        "state": Figure("text", "state on the page, such as RUNNING, NO RUNNING, FAILED, PAUSED"),
        "host": Figure("text", "first Core in the queue of the task"),
        "running": Figure("count", "Cores that report RUNNING"),
        "standbys": Figure("count", "Cores that can take over"),
        "wanted_standbys": Figure("count", "standbys that the task is to have"),
        "lag_seconds": Figure("seconds", "age of the oldest change that is not delivered"),
        "lag_unknown": Figure("flag", "the task is RUNNING and its lag is not known; unknown in other states"),
        "retrying_seconds": Figure("seconds", "time for which source or sink is retried, 0 without retries"),
        "retrying_side": Figure("text", "which of source and sink is retried"),
        "figures_age_seconds": Figure("seconds", "age of the report of the Core that runs the task"),
        "clock_skew_seconds": Figure("seconds", "difference of the clocks of source and Core, without sign"),
        "checkpoint_behind_seconds": Figure("seconds", "time between the last checkpoint and the last event read"),
        "retention_headroom_seconds": Figure("seconds", "time until the source purges binlog that is needed"),
        "tables_differing": Figure("count", "tables that differed at the last verification"),
        "verified_age_seconds": Figure("seconds", "time since a verification found all tables equal"),
        "certificate_left_seconds": Figure("seconds", "time until the first certificate of the task expires"),
        "addresses_refused": Figure("count", "sections that are not connected to what the address book says"),
        "address_sections": Figure("text", "these sections"),
        "late_consumers": Figure("count", "consumer groups that lose unread records to retention"),
        "unplaced": Figure("flag", "no Core of the group of the task takes it; unknown without a group"),
        "group": Figure("text", "group of Cores of the task"),
        "failovers_1h": Figure("count", "fail-overs within the last hour"),
        "gave_up_1h": Figure("count", "hand-overs of Cores that did not reach source or sink, within the last hour"),
        "maintenance": Figure("flag", "no standby can be promoted"),
        "dead_letters_1h": Figure("count", "records too large for the sink, within the last hour"),
        "conflicts_1h": Figure("count", "conflicts at the target within the last hour"),
        "tables_quarantined": Figure("count", "tables in quarantine"),
        "config_invalid": Figure("flag", "the newest configuration is refused"),
        "rows_per_second": Figure("count", "rows delivered per second"),
    },
    "machine": {
        "machine": Figure("text", "host name"),
        "state": Figure("text", "online, silent or offline"),
        "online": Figure("flag", "the Core reports"),
        "silence_seconds": Figure("seconds", "time since the last report"),
        "load_per_core": Figure("count", "load average of one minute, per CPU"),
        "memory_used_percent": Figure("count", "memory of the machine in use"),
        "disk": Figure("text", "mount of the fullest file system"),
        "disk_used_ratio": Figure("count", "share of it that is in use, 0 to 1"),
        "running": Figure("count", "tasks that it runs"),
        "version": Figure("text", "release of the Core"),
    },
    "address": {
        "name": Figure("text", "name in the address book"),
        "address": Figure("text", "its present address"),
        "answers": Figure("flag", "the server of the address answers the probe"),
    },
    "listener": {
        "process": Figure("text", "server or monitor"),
        "host": Figure("text", "its host"),
        "certificate_left_seconds": Figure("seconds", "time until its TLS certificate expires"),
        "certificate_not_loaded": Figure("flag", "changed TLS files can't be used"),
    },
    "monitor": {
        "host": Figure("text", "its host"),
        "zookeeper_connected": Figure("flag", "ZooKeeper answers this Monitor and figures are current"),
        "zookeeper_silence_seconds": Figure("seconds", "age of the last figures that were read"),
    },
    "cluster": {
        "tasks": Figure("count", "tasks"),
        "machines_online": Figure("count", "machines that report"),
        "maintenance": Figure("flag", "maintenance of all tasks"),
    },
}
FROZEN_WITHOUT_ZOOKEEPER: Final = frozenset(FIGURES) - {"monitor"}
"""What these are about is not known while ZooKeeper is away."""
