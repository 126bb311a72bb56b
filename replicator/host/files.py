"""Opens files named in configurations without leaving the directories that they are confined to.

Every component below such a directory is opened relative to the one above it and may not be a symbolic link (for
secrets: links are resolved first, and the result is opened so). What was checked is the open file, never its name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from replicator.errors import ProcessError

_SAFE: Final = os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
"""No link, no terminal of ours, no wait for the other end of a pipe, nothing for programs that we start."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class NotUsable(Exception):
    """The file may not, or can't, be used; the text says why and has nothing of its content."""


class NotAllowed(NotUsable):
    """It is outside of the directories that it has to be in."""


def below(path: str, base: Path) -> tuple[str, ...]:
    """The components of `path` under `base`, which it is relative to unless it is absolute. Looks at text alone.

    Raises NotUsable for a path that leads elsewhere or names `base` itself.
    """
    given = Path(path)
    if "\0" in path or ".." in given.parts:
        raise NotUsable("a path with '..' or a NUL")
    try:
        parts = given.relative_to(base).parts if given.is_absolute() else given.parts
    except ValueError:
        raise NotUsable(f"not below {base}") from None
    if not parts:
        raise NotUsable("a directory")
    return parts


def open_folder(base: Path, parts: Iterable[str]) -> int:
    """A descriptor of the directory `parts` below `base`. Raises NotUsable."""
    shown = base
    try:
        handle = os.open(base, _FOLDER)
        for part in parts:
            shown /= part
            above = handle
            try:
                handle = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
            finally:
                os.close(above)
    except OSError as error:
        link = shown != base and shown.is_symlink()
        raise NotUsable(f"{shown} is a symbolic link" if link else f"{shown}: {reason(error)}") from None
    return handle


def open_file(folder: int, name: str, flags: int) -> int:
    """A descriptor of a regular file that exists; `flags`: how it is opened, without O_CREAT and O_TRUNC.

    Raises NotUsable; FileNotFoundError where there is no such file.
    """
    try:
        seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _regular(seen)
        handle = os.open(name, flags | _SAFE, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotUsable(reason(error)) from None
    found = os.fstat(handle)
    if (found.st_dev, found.st_ino) != (seen.st_dev, seen.st_ino):
        os.close(handle)
        raise NotUsable("replaced while it was opened")
    return handle


def create_file(folder: int, name: str, flags: int, mode: int = 0o666) -> int:
    """A descriptor of a new file. Raises NotUsable, also where something of that name is there already."""
    try:
        return os.open(name, flags | os.O_CREAT | os.O_EXCL | _SAFE, mode, dir_fd=folder)
    except OSError as error:
        raise NotUsable(reason(error)) from None


def locate(path: str, bases: Iterable[Path]) -> tuple[Path, Path]:
    """The real path of a file that is below one of `bases`, and that base's own. Links are followed as long as they
    stay below it (Kubernetes mounts secrets so). Raises NotUsable, and NotAllowed without a look at the file."""
    allowed = tuple(bases)
    for base in allowed:
        try:
            parts = below(path, base) if path.startswith("/") else ()
        except NotUsable:
            continue
        try:
            home = base.resolve(strict=True)
            real = home.joinpath(*parts).resolve(strict=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise NotUsable(reason(error)) from None
        if not real.is_relative_to(home):
            raise NotAllowed(f"a symbolic link out of {base}")
        return real, home
    raise NotAllowed(f"not below {' or '.join(map(str, allowed)) or 'any directory that is allowed'}")


def read(path: str, bases: Iterable[Path], limit: int) -> tuple[Path, bytes]:
    """The real path and the content of a regular file of at most `limit` bytes below one of `bases`. Raises
    NotUsable."""
    real, home = locate(path, bases)
    parts = real.relative_to(home).parts
    if not parts:
        raise NotUsable("a directory")
    folder = open_folder(home, parts[:-1])
    try:
        handle = open_file(folder, parts[-1], os.O_RDONLY)
    except FileNotFoundError as error:
        raise NotUsable(reason(error)) from None
    finally:
        os.close(folder)
    with os.fdopen(handle, "rb") as file:
        try:
            content = file.read(limit + 1)
        except OSError as error:
            raise NotUsable(reason(error)) from None
    if len(content) > limit:
        raise NotUsable(f"over {limit} bytes")
    return real, content


def check_private(path: Path) -> None:
    """Of a file with a key for TLS. Raises ProcessError E5081: others than the process can read it. One that belongs to
    root may be readable by a group, as distributions keep them; E5080: there is no such file."""
    try:
        found = path.stat()
    except OSError as error:
        raise ProcessError("E5080", f"the TLS key {path} can't be read", found=reason(error)) from None
    allowed = 0o640 if found.st_uid == 0 and os.geteuid() != 0 else 0o600
    mode = stat.S_IMODE(found.st_mode)
    if mode & ~(allowed | 0o100):
        fix = f"chmod 600 {path}"
        raise ProcessError(
            "E5081", f"others can read the TLS key {path}", found=f"mode {mode:o}", wanted="600", fix=fix
        )


def _regular(found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise NotUsable("a symbolic link")
    if stat.S_ISDIR(found.st_mode):
        raise NotUsable("a directory")
    if not stat.S_ISREG(found.st_mode):
        raise NotUsable("not a regular file")


def reason(error: Exception) -> str:
    """What the system has against it, without names."""
    text = error.strerror if isinstance(error, OSError) else str(error)
    return text or type(error).__name__
