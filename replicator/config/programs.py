"""Runs programs that configurations name, with the errors that their authors read."""

from __future__ import annotations

from collections.abc import Sequence

from replicator.errors import ConfigError
from replicator.host import access, commands, files


def printed(command: Sequence[str], *, prints: str, fix: str, shown: str = "") -> str:
    """What a program of --commands-directory writes to its standard output, without blanks around it.

    Args:
        command: the program's absolute path, and its arguments.
        prints: what it is run for, such as `a token`; fix: of a program that can't be run.
        shown: the program's name in errors; default: its path.

    Raises:
        ConfigError: E1012, tasks may not run it; E1006: it can't be run.
        commands.CommandFailed: it did not end well, which may pass.
    """
    name = shown or command[0]
    try:
        return commands.output(command, access.commands_directories())
    except files.NotAllowed as error:
        raise not_allowed(name, str(error)) from None
    except files.NotUsable as error:
        what, wanted = f"the command {name!r} can't be run", f"a program that prints {prints}"
        raise ConfigError("E1006", what, found=str(error), wanted=wanted, fix=fix) from None


def not_allowed(name: str, found: str) -> ConfigError:
    """E1012."""
    return ConfigError(
        "E1012",
        f"tasks may not run the command {name!r}",
        found=found,
        wanted="a program in an allowed directory",
        fix=f"Move the program there, or start {access.process_name()} with --commands-directory.",
    )
