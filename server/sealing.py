"""Seals secrets of tasks, also again under another key of the cluster. What is sealed is never read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replicator.config import cluster_keys, fields
from replicator.config.cluster_keys import ClusterKeys
from replicator.config.load import parse_task, to_data
from replicator.config.sealed import Place, key_of, number_of, resealed, seal, sealed_fields, with_field
from replicator.config.task import TaskConfig
from replicator.errors import ConfigError


class Sealing:
    """Args: installation: asks for the id of the installation."""

    def __init__(self, installation: Any) -> None:
        self._installation = installation

    def set(self, config: Mapping[str, Any], field: str, secret: str) -> TaskConfig:
        """The configuration with the secret sealed in `field`.

        Raises:
            ConfigError: E1044, no such field; E1041, E1043: no key of the cluster is here; E1003: an empty secret.
        """
        if not secret:
            raise ConfigError("E1003", "the secret is empty", wanted="at least one character")
        data = dict(config)
        names = tuple(field.split("."))
        if not fields.is_secret(data, names):
            raise ConfigError("E1044", f"{field[:100]!r} is not a secret of this task", wanted=_known(data))
        text = seal(_keys(), secret, self._place(data, field))
        try:
            return parse_task(with_field(data, field, text))
        except (KeyError, TypeError):
            raise ConfigError("E1044", f"the task has no section for {field[:100]!r}", wanted=_known(data)) from None

    def renewed(self, config: Mapping[str, Any]) -> tuple[TaskConfig | None, list[str]]:
        """The configuration with all its secrets under the key that seals now, None where they are already; and the
        fields that change. Raises ConfigError E1040, E1041, E1043."""
        keys, data, changed = _keys(), dict(config), []
        for field, text in sealed_fields(config):
            if key_of(text) != keys.sealing:
                data = with_field(data, field, resealed(keys, text, self._place(data, field)))
                changed.append(field)
        return (parse_task(data) if changed else None), changed

    def restored(self, earlier: Mapping[str, Any], present: Mapping[str, Any]) -> dict[str, Any]:
        """An earlier configuration of a task, with its sealed secrets as they are needed now: one that has only been
        sealed again since is taken from the present configuration, any other is sealed under the key that seals now. A
        Server without a key changes nothing.

        Raises ConfigError E1040, E1041, E1043 for one that can't be opened: the task would fail with it.
        """
        data, now = dict(earlier), dict(sealed_fields(present))
        for field, text in list(sealed_fields(earlier)):
            if number_of(text) == number_of(now.get(field, "sealed:::")):
                data = with_field(data, field, now[field])
            elif cluster_keys.configured() is not None:
                data = with_field(data, field, resealed(_keys(), text, self._place(data, field)))
        return data

    def copied(self, config: TaskConfig, former: str) -> TaskConfig:
        """A task that is made from the one called `former`: its sealed secrets are sealed for the new one."""
        data = to_data(config)
        for field, text in list(sealed_fields(data)):
            to = self._place(data, field)
            data = with_field(data, field, resealed(_keys(), text, to._replace(task=former), to))
        return parse_task(data)

    def _place(self, data: Mapping[str, Any], field: str) -> Place:
        return Place(self._installation(), str(data.get("name", "")), field)


def secrets_of(config: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> dict[str, str]:
    """Each secret of a configuration, by field: `env`, `file`, or `sealed` with the id of its key."""
    found: dict[str, str] = {}
    _collect(config, config, prefix, found)
    return found


def _collect(whole: Mapping[str, Any], part: Mapping[str, Any], prefix: tuple[str, ...], found: dict[str, str]) -> None:
    for name, value in part.items():
        path = (*prefix, name)
        if isinstance(value, Mapping):
            _collect(whole, value, path, found)
        elif isinstance(value, str) and fields.is_secret(whole, path):
            kind = value.partition(":")[0]
            found[".".join(path)] = f"sealed, key {key_of(value)}" if kind == "sealed" else kind


def _known(data: Mapping[str, Any]) -> str:
    return ", ".join(secrets_of(data)) or "a task with a secret"


def _keys() -> ClusterKeys:
    keys = cluster_keys.configured()
    if keys is None:
        raise ConfigError(
            "E1041",
            "the Server has no cluster key",
            found="no --cluster-key-file",
            wanted="a file that `replicator cluster new-key` has made",
            fix="`replicator cluster new-key FILE`; copy the file to each Core and Server, mode 0600, and start them "
            "with --cluster-key-file FILE.",
        )
    return keys
