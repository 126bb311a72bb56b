"""The console script as a user runs it: what it printed, how it ended, and what it left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from dev import warm
from dev.cluster import CLI, wait_for

_ERROR = re.compile(r"^E\d{4} [a-z]+: .+")
END_SECONDS = 25.0  # a second or two, where nothing else runs
"""In which Ctrl-C must have ended anything, on a machine that is busy with other tests."""


class Ended:
    """A command that has ended: `status`, and the text of its stdout and stderr."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err
        # Python itself, interrupted before our handler is in place, may say so.
        unborn = "Failed to import the site module" in err or (
            "from replicator.cli.start import main" in err and "replicator/cli/main.py" not in err
        )
        assert "Traceback" not in err or unborn, err
        assert "E5011" not in err, err

    @property
    def errors(self) -> list[str]:
        """The lines that tell why it ended."""
        return [line for line in self.err.splitlines() if _ERROR.match(line)]

    def refused(self, code: str, *words: str, status: int = 1) -> str:
        """It ended with this one error, in one line that has all `words`. Returns the line."""
        assert self.status == status, (self.status, self.err)
        assert len(self.errors) == 1, self.err
        line = self.errors[0]
        assert line.startswith(f"{code} "), line
        for word in words:
            assert word in line, f"{word!r} is not in: {line}"
        return line

    def ok(self) -> Ended:
        assert self.status == 0, self.err
        return self


class Running:
    """A command that runs; its output goes to files, so that it never waits for us."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], name: str, imports: bool
    ) -> None:
        self._out, self._err = folder / f"{name}.out", folder / f"{name}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process: subprocess.Popen[bytes] | warm.WarmProcess
            command = [str(CLI), *arguments]
            if imports:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder, env=environment
                )
            else:
                self._process = warm.start(command, cwd=folder, environment=environment, stdout=out, stderr=err)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def err(self) -> str:
        return self._err.read_text(errors="replace")

    @property
    def out(self) -> str:
        return self._out.read_text(errors="replace")

    def says(self, *words: str, timeout: float = 40.0) -> str:
        """Waits for a line on stderr that has all `words`; returns it."""

        def found() -> str | None:
            line = next((line for line in self.err.splitlines() if all(word in line for word in words)), None)
            assert line or self.alive, f"it ended before it said {words}: {self.err}"
            return line

        return str(wait_for(found, f"{words} in: {self.err}", timeout))

    def end(self, timeout: float = 60.0) -> Ended:
        """Waits for it to end by itself."""
        return Ended(self._process.wait(timeout), self.out, self.err)

    def interrupt(self, number: signal.Signals = signal.SIGINT, timeout: float = END_SECONDS) -> Ended:
        """Ctrl-C: ends in time, with every process it had started."""
        below = psutil.Process(self.pid).children(recursive=True) if self.alive else []
        self._process.send_signal(number)
        ended = self.end(timeout)
        _, left = psutil.wait_procs(below, timeout=3)
        assert not left, f"left behind: {left}"
        return ended

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        if self.alive:
            self._process.kill()
            self._process.wait(10)


class Replicator:
    """`replicator ...` with a home, a state folder and a password of its own.

    Attributes:
        imports: whether what `start` starts imports its modules, as for a user; else they are there.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
        self.environment = {**kept, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), **environment}
        self._count = 0
        self.imports = False
        self._started: list[Running] = []

    def start(self, *arguments: str) -> Running:
        self._count += 1
        made = Running(arguments, self.folder, self.environment, f"{self._count:02}-{arguments[0]}", self.imports)
        self._started.append(made)
        return made

    def __call__(self, *arguments: str, timeout: float = 60.0) -> Ended:
        """Of a command that ends by itself."""
        command = [str(CLI), *arguments]
        done = warm.run(command, environment=self.environment, cwd=self.folder, timeout=timeout)
        return Ended(done.returncode, done.stdout, done.stderr)

    def close(self) -> None:
        for running in self._started:
            running.kill()
