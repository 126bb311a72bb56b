"""`replicator task edit`: opens a task's configuration in an editor, validates it and replaces it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from replicator.cli.durations import Wait
from replicator.cli.task.client import Client
from replicator.cli.task.edit_lock import EditLock
from replicator.cli.task.merge import has_markers, merge
from replicator.cli.task.options import name_argument, reason_option, with_client
from replicator.cli.terminal import clean
from replicator.errors import ConfigError, ProcessError, ReplicatorError

NOTE = "#: "
"""Begins the lines that this command adds, which are removed again."""


@click.command("edit")
@name_argument
@click.option("--with-defaults", is_flag=True, help="Show keys that have their default, too.")
@click.option(
    "--wait",
    type=Wait(),
    default=0.0,
    show_default="0: do not wait",
    help="Time to wait while another person edits the task, such as 5m.",
)
@click.option("--force", is_flag=True, help="Take the lock from another person who edits the task.")
@reason_option
@with_client
def command(name: str, with_defaults: bool, wait: float, force: bool, reason: str, client: Client) -> None:
    """Edit the configuration of a task in the editor of VISUAL or EDITOR (else vi).

    What is saved is validated, here and by the Server, before anything is changed; on an error the editor opens again
    with the problems as comments. If another user has changed the task in the meantime, both changes are merged, and
    the editor shows the result; where they overlap, both are shown with the text before them. Saving without a change
    cancels. While the editor is open, `task edit` of others is refused, with the name of this user (E4077). If the text
    can't be applied, it is kept in a file whose path is printed.
    """
    editor = _editor()
    with EditLock(client, name, wait=wait, force=force) as lock:
        outcome = _edited(client, name, editor, reason, lock, defaults=with_defaults)
    click.echo(f"{clean(name)} {outcome}")


def _edited(client: Client, name: str, editor: list[str], reason: str, lock: EditLock, *, defaults: bool) -> str:
    """The outcome."""
    session = _Session(client, name, client.task(name), reason, lock, defaults=defaults)
    handle, path = tempfile.mkstemp(prefix="replicator-edit-", suffix=".yaml")
    os.close(handle)
    file = Path(path)
    with _kept(file, session):
        outcome = session.run(editor, file)
    with contextlib.suppress(OSError):
        file.unlink()
    return outcome


@contextlib.contextmanager
def _kept(file: Path, session: _Session) -> Iterator[None]:
    """Whatever ends the session: a text that was edited is not lost."""
    try:
        yield
    except BaseException:
        if session.edited:
            click.echo(f"Your text is kept in {file}; apply it with `replicator task apply -f {file}`.", err=True)
        else:
            with contextlib.suppress(OSError):
                file.unlink()
        raise


class _Session:
    """`edited`: the editor has saved a text that is not the configuration."""

    def __init__(
        self, client: Client, name: str, task: dict[str, Any], reason: str, lock: EditLock, *, defaults: bool
    ) -> None:
        self._lock = lock
        self._client = client
        self._name = name
        self._reason = reason
        self._defaults = defaults
        self._version = int(task["version"])
        self._base = self._text_of(task)
        self._problems: ReplicatorError | None = None
        self.edited = False

    def run(self, editor: list[str], file: Path) -> str:
        """The outcome. Raises whatever prevents it."""
        text = self._base
        notes = [f"Task {self._name}, version {self._version}. Save to apply, without a change to cancel."]
        while True:
            shown = _with_notes(text, notes)
            file.write_text(shown, encoding="utf-8")
            try:
                _edit(editor, file)
            finally:  # an editor that crashed may have saved before
                raw = file.read_text(encoding="utf-8", errors="replace")
                saved = _without_notes(raw)
                self.edited = saved.strip() != self._base.strip() and bool(saved.strip())
            if not self.edited:
                return "not changed"
            if raw == shown and self._problems:
                raise self._problems
            try:
                self._send(saved)
            except ReplicatorError as error:
                text, notes = self._again(saved, error)
                continue
            return "configured"

    def _send(self, text: str) -> None:
        from replicator.config.load import load_task  # here: pydantic would double the start of every command

        if has_markers(text):
            raise ConfigError("E1001", "the text has markers of a conflict", fix="Choose one form, remove the markers.")
        config = load_task(text)
        if config.name != self._name:
            raise ConfigError(
                "E1009", "the name of a task can't change", found=repr(config.name), wanted=repr(self._name)
            )
        token = self._lock.token()
        self._client.replace(
            self._name, text.encode(), self._version, dry_run=False, reason=self._reason, edit_token=token
        )

    def _again(self, saved: str, error: ReplicatorError) -> tuple[str, list[str]]:
        """The text and the notes for the editor. Raises what no other text would mend."""
        if error.code == "E4006":
            return self._merged(saved)
        if not isinstance(error, ConfigError):
            raise error
        self._problems = error
        listed = [str(one) for one in getattr(error, "errors", ()) or (error,)]
        return saved, ["Nothing was changed. Correct the text; saving it as it is ends the command.", *listed]

    def _merged(self, saved: str) -> tuple[str, list[str]]:
        task = self._client.task(self._name)
        theirs, version = self._text_of(task), int(task["version"])
        by = clean(task["updated_by"]) or "another user"
        names = (f"version {self._version}", "your text", f"version {version} by {by}")
        merged = merge(self._base, saved, theirs, names)
        self._base, self._version, self._problems = theirs, version, None
        head = f"Version {version} was written by {by} in the meantime."
        if merged.conflicts:
            more = f"In {merged.conflicts} places you have both changed the same lines: choose, and remove the markers."
        else:
            more = "Both changes are merged below. Save to apply; a text equal to the new version cancels."
        return merged.text, [head, more]

    def _text_of(self, task: dict[str, Any]) -> str:
        from replicator.config.export import exported  # here: pydantic would double the start of every command

        if task["config"] is None:
            raise ProcessError(
                "E5007",
                f"task '{self._name}' has no configuration that can be edited",
                fix="Write one: `replicator task apply -f FILE`.",
            )
        return exported(task["config"], defaults=self._defaults)


def _editor() -> list[str]:
    """Raises UsageError."""
    given = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(given)
    except ValueError:
        words = []
    if not words or shutil.which(words[0]) is None:
        raise click.UsageError(f"There is no editor {given!r}. Set EDITOR to the command of one.")
    return words


def _edit(editor: list[str], file: Path) -> None:
    """Raises ProcessError E5091."""
    try:
        status = subprocess.run([*editor, str(file)], check=False).returncode
    except OSError as error:
        raise ProcessError("E5091", f"the editor {editor[0]} can't be started", found=str(error)) from None
    if status != 0:
        raise ProcessError("E5091", f"the editor {editor[0]} ended with status {status}", wanted="status 0")


def _with_notes(text: str, notes: list[str]) -> str:
    return "".join(f"{NOTE}{clean(line)}\n" for note in notes for line in note.splitlines()) + text


def _without_notes(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(NOTE.rstrip()))
