"""A click group that imports a command when it is called: `replicator task get` does not load Kafka."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping

import click

from replicator.cli.loading import loading

Load = Callable[[], click.Command]


class SuggestingGroup(click.Group):
    """A group that answers an unknown command with the one that was probably meant. `meanings`: word of other tools ->
    command, as it is typed after the name of this group."""

    def __init__(self, *args: object, meanings: Mapping[str, str] | None = None, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._meanings = meanings or {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and name not in self.list_commands(ctx):
            meant = self._meanings.get(name.lower()) or next(
                iter(difflib.get_close_matches(name, [*self.list_commands(ctx), *self._meanings], n=1, cutoff=0.5)), ""
            )
            meant = self._meanings.get(meant, meant)
            hint = f" Did you mean {meant!r}?" if meant else ""
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(SuggestingGroup):
    """`lazy`: name -> (short help, module with an object `command`). The help is repeated here so that `--help` imports
    nothing. `more`: gives further commands by name (processes register themselves as entry points)."""

    def __init__(
        self,
        *args: object,
        lazy: Mapping[str, tuple[str, str]],
        more: Callable[[], Mapping[str, Load]] | None = None,
        meanings: Mapping[str, str] | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(*args, meanings=meanings, **kwargs)
        self._lazy = lazy
        self._more = more

    def _others(self) -> Mapping[str, Load]:
        return self._more() if self._more else {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self._lazy, *(name for name in sorted(self._others()) if name not in self._lazy)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._lazy:
            with loading():
                command = importlib.import_module(self._lazy[cmd_name][1]).command
            assert isinstance(command, click.Command)  # noqa: S101
            return command
        with loading():
            load = self._others().get(cmd_name)
            return load() if load else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, text) for name, (text, _) in self._lazy.items()]
        processes = [(name, self._short_help(load)) for name, load in sorted(self._others().items())]
        for title, group in (("Commands", rows), ("Processes", processes)):
            if group:
                with formatter.section(title):
                    formatter.write_dl(group)

    @staticmethod
    def _short_help(load: Load) -> str:
        try:
            return load().get_short_help_str(60)
        except Exception as error:  # a broken plug-in must not take the help of the others away
            return f"(can't be loaded: {type(error).__name__}: {error})"
