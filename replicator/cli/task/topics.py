"""The topics of tasks that are deleted with them: shown before, deleted behind the task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack

import click

from replicator.cli.task.client import Client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError


class Purges:
    """Connections to the Kafka of each task, made before anything is deleted: who can't delete the topics keeps the
    task. Secrets are resolved on this host."""

    def __init__(self, client: Client, names: Sequence[str]) -> None:
        # Imported here: pydantic and the Kafka client would triple the start of every command.
        from replicator.assembly.topic_purge import open_topic_purge
        from replicator.config import sealed
        from replicator.config.load import parse_task

        self._client = client
        self._opened = ExitStack()
        try:
            installation = client.cluster()["installation"]
            tasks = [client.task(name) for name in names]
            for task in tasks:
                sealed.bind(task["config"] or {}, installation)
            self._purges = {
                task["name"]: self._opened.enter_context(
                    open_topic_purge(parse_task(json.loads(json.dumps(task["config"]))), installation)
                )
                for task in tasks
            }
            self._found = {name: purge.find() for name, purge in self._purges.items()}
        except BaseException:
            self._opened.close()
            raise

    def __enter__(self) -> Purges:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def show(self, *, err: bool) -> None:
        for name, found in self._found.items():
            for topic in found.own:
                click.echo(f"topic {clean(topic)} of {clean(name)}", err=err)
            for topic in found.shared:
                click.echo(f"topic {clean(topic)} stays: another task has written it, too", err=err)
            if not found.own:
                click.echo(f"{clean(name)} has no topics to delete", err=err)

    def delete(self, name: str) -> None:
        """Behind the task. Raises ProcessError E5062: a task of the name is there again."""
        own = self._found[name].own
        if self._client.find(name) is not None:
            raise ProcessError(
                "E5062",
                f"the topics of '{name}' were not deleted: a task of this name was created meanwhile",
                found=", ".join(own),
            )
        # Again, as another task may have begun to write one of them since they were shown.
        still = set(self._purges[name].find().own)
        for topic in sorted(set(own) - still):
            click.echo(f"topic {clean(topic)} stays: another task has written it since, or it is gone", err=True)
        self._purges[name].delete(tuple(topic for topic in own if topic in still))
        click.echo(f"{clean(name)}: {len(still & set(own))} topics deleted")
