"""Files and variables of this host that task configurations may use. The operator of the host decides, by options of
the process; authors of configurations cannot extend this.

The settings are kept in the environment of the process: worker processes inherit it, whoever starts them.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

SECRETS_DIRECTORY: Final = "REPLICATOR_SECRETS_DIRECTORY"
"""Directories, separated by colons, below which `file:` secrets and the files of `tls` have to be."""
SECRETS_ENV_PREFIX: Final = "REPLICATOR_SECRETS_ENV_PREFIX"
"""Prefixes, separated by blanks, of the variables that `env:` secrets may name; `*`: any variable."""
COMMANDS_DIRECTORY: Final = "REPLICATOR_COMMANDS_DIRECTORY"
"""Directories, separated by colons, with the programs that tasks may run (`sasl.token_command`)."""
FILE_SINK_DIRECTORY: Final = "REPLICATOR_FILE_SINK_DIRECTORY"
"""The directory below which file sinks write."""
ALLOW_OUTGOING: Final = "REPLICATOR_ALLOW_OUTGOING"
"""Hosts and networks, separated by blanks, that tasks may connect to."""

PROCESS: Final = "REPLICATOR_PROCESS"
"""What this process is, in words: errors of missing variables and files name it. Set by the process itself."""

DEFAULT_SECRETS_DIRECTORY: Final = "/etc/mysql-replicator/secrets"
"""Not /run/secrets, where Kubernetes puts the token of the pod."""
DEFAULT_ENV_PREFIX: Final = "REPL_"
TRUST_STORES: Final = (
    Path("/etc/ssl"),
    Path("/etc/pki"),
    Path("/usr/share/ca-certificates"),
    Path("/usr/local/share/ca-certificates"),
)
"""Where systems keep certificates of authorities, which are public: `tls.ca` may be there, too."""

_NEVER: Final = frozenset({"REPLICATOR_TOKEN", "REPLICATOR_ZOOKEEPER_PASSWORD", "REPLICATOR_CLUSTER_KEY_FILE"})
"""They open the Server's API, ZooKeeper and sealed secrets: never the secret of a task, nor seen by its programs."""


def name_process(name: str) -> None:
    """name: such as `the Core host-a`. The name of the machine is added."""
    os.environ[PROCESS] = f"{name} (machine {socket.gethostname()})"


def process_name() -> str:
    """Of the process that resolves secrets: a Core, or a command of an operator."""
    return os.environ.get(PROCESS) or f"this command (machine {socket.gethostname()})"


def is_service() -> bool:
    """Whether the process runs for others: its environment is not that of the shell of whoever reads its errors."""
    return PROCESS in os.environ


def secrets_directories() -> tuple[Path, ...]:
    given = os.environ.get(SECRETS_DIRECTORY) or DEFAULT_SECRETS_DIRECTORY
    return tuple(Path(each) for each in given.split(os.pathsep) if each.startswith("/"))


def env_prefixes() -> tuple[str, ...]:
    return tuple((os.environ.get(SECRETS_ENV_PREFIX) or DEFAULT_ENV_PREFIX).split())


def allows_variable(name: str) -> bool:
    """Whether `env:NAME` may be resolved."""
    return name not in _NEVER and any(each == "*" or name.startswith(each) for each in env_prefixes())


def commands_directories() -> tuple[Path, ...]:
    """Empty: tasks run no programs on this host."""
    given = os.environ.get(COMMANDS_DIRECTORY) or ""
    return tuple(Path(each) for each in given.split(os.pathsep) if each.startswith("/"))


def outgoing_entries() -> tuple[str, ...]:
    """Hosts and networks that tasks may connect to, as they were given. Empty: any."""
    return tuple((os.environ.get(ALLOW_OUTGOING) or "").split())


def passes_to_commands(name: str) -> bool:
    """Whether a program of a task gets this environment variable: not the secrets of all tasks."""
    secret = {DEFAULT_ENV_PREFIX, *env_prefixes()} - {"*"}
    return name not in _NEVER and not name.startswith(tuple(secret))


def file_sink_directory() -> Path | None:
    """None: tasks write no files on this host."""
    given = os.environ.get(FILE_SINK_DIRECTORY)
    return Path(given) if given else None


def default_file_sink_directory(directory: Path) -> None:
    """For commands that people start by hand: where files go unless they say otherwise."""
    os.environ.setdefault(FILE_SINK_DIRECTORY, str(directory))
