"""Replaces names of the address book in a task file by the addresses that the Server has for them."""

from __future__ import annotations

import os
from pathlib import Path

from replicator.cli import contexts
from replicator.cli.task.client import Client, find_token
from replicator.config.ddns import references, resolved
from replicator.config.load import parse_task, to_data
from replicator.config.task import TaskConfig
from replicator.errors import ConfigError, ReplicatorError


def with_addresses(config: TaskConfig, server: str | None = None, token_file: Path | None = None) -> TaskConfig:
    """The same configuration where it has no such name: then no Server is asked.

    Args:
        server, token_file: of the command line; None: as every command finds them.

    Raises:
        ConfigError: E4104, no Server answers.
        ReplicatorError: E4101, E4102, and what else the Server says.
    """
    data = to_data(config)
    used = list(references(data))
    if not used:
        return config
    server = server or os.environ.get("REPLICATOR_SERVER") or contexts.server()
    try:
        with Client(server, find_token(token_file, server)) as client:
            found = {section: client.address(str(name)) for section, name in used}
    except ReplicatorError as error:
        if error.code not in ("E5005", "E5006"):
            raise
        section, name = used[0]
        raise ConfigError(
            "E4104",
            f"{section}.address is in the address book, and the Server can't be asked",
            found=f"ddns:{name}; {error.code} {error.what}",
        ) from error
    for item in found.values():
        if item["problem"]:
            raise ConfigError("E4102", f"the address {item['name']} can't be used", found=item["problem"]["found"])
    return parse_task(resolved(data, {section: item["address"] for section, item in found.items()}))
